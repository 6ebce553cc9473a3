// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/tensor_train/contract_rows.hpp"
#include "reference/tensor_train/tensor_train.hpp"

namespace shardmark::kernels {

/// Returns the gradients of the slices that the rows of the tree are made of, by the chain rule from the last core to
/// the first:
///   dG_t[i] = sum of X_(t-1)^T dX_t over the nodes with slice i,   dX_(t-1) = dX_t G_t[i]^T,
/// where dX of a node is the sum over its children. Products X are computed again; what rows share is computed once.
///   gradients: that of distinct row u begins at rows.position(rows.begin(u)), dim elements in the table's order
///   order: ordered: sums in the order of the rows, within runs of nodes that depend on the rows alone, so that bits
///     depend on neither threads nor memory; unordered: runs add theirs as they come
/// The result is keyed by first_slice + slice, for fused_update, reduce_to_dense or pack_row_gradients with the cores
/// as shards; only slices that a row uses appear. It lives in `workspace` until the next call with it.
template <class Exec>
RowGradients<Exec> slice_gradients(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& tts,
                                   ConstArray<Exec, float> gradients, SliceSums order,
                                   TensorTrainWorkspace<Exec>& workspace);

}  // namespace shardmark::kernels
