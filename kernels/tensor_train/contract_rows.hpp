// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/tensor_train/node_products.hpp"

namespace shardmark::kernels {

/// rows(u * stride + c) = column c of distinct row u, for all rows of the tree: entry (i, j) of a table is the product
/// of matrices G_0[i_0][:, j_0, :] G_1[i_1][:, j_1, :] .., from the left, each element of each product one chain of
/// fused multiply-adds in fp32 over the rank. What rows share is computed once. stride: at least the largest dim.
template <class Exec>
void contract_rows(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& trains,
                   TensorTrainWorkspace<Exec>& workspace, Array<Exec, float> rows, std::int64_t stride);

}  // namespace shardmark::kernels
