// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/update/row_gradients.hpp"

namespace shardmark::kernels {

/// Says where the gradients of the rows of one data-parallel table are stored: that of row r at output + r * dim of the
/// dense gradient of all rows; or, with first_unique >= 0, that of distinct row u at output + (u - first_unique) * dim
/// of the packed ones.
struct DenseShard {
  std::int64_t first_key = 0;
  std::int64_t dim = 0;
  std::int64_t output = 0;
  std::int64_t first_unique = -1;
};

/// Writes the gradient of every distinct row of the shards to `dense` and sets touched[key] = 1; other elements keep
/// the 0 that the caller has given them. Both are what data_parallel tables all-reduce, so that `touched` then counts
/// the ranks that named a row.
/// dense: [sum over shards of rows x dim]; touched: [keys]. Shards with first_unique >= 0 are in neither: the gradients
/// of their touched rows go to `packed`.
template <class Exec>
void reduce_to_dense(const Exec& exec, const RowGradients<Exec>& gradients, const ShardList<Exec, DenseShard>& shards,
                     RowGradientsWorkspace<Exec>& workspace, Array<Exec, float> dense, Array<Exec, float> touched,
                     Array<Exec, float> packed = {});

/// Returns the keys that were touched, each used at one position: the element of the all-reduced dense gradient where
/// that of its row begins. With `dense` as gradients this is the input of fused_update. The result lives in
/// `workspace`.
///   touched: [keys], 0 for rows that keep their values and state;  shards: as reduce_to_dense had them
///   dense_elements: of the dense gradient
template <class Exec>
UniqueRows<Exec> touched_rows(const Exec& exec, ConstArray<Exec, float> touched,
                              const ShardList<Exec, DenseShard>& shards, std::int64_t dense_elements,
                              UniqueRowsWorkspace<Exec>& workspace);

/// Describes the distinct rows of one shard within packed vectors: that of row u begins at output + (u - first_row) *
/// dim.
struct PackedRows {
  std::int64_t first_key = 0;
  std::int64_t dim = 0;
  std::int64_t first_row = 0;
  std::int64_t output = 0;
};

/// Writes the gradients of the distinct rows to `packed`, one behind the other: a rank sends them to the owners of rows
/// that it requested once. shards: by ascending first_key.
template <class Exec>
void pack_row_gradients(const Exec& exec, const RowGradients<Exec>& gradients,
                        const ShardList<Exec, PackedRows>& shards, RowGradientsWorkspace<Exec>& workspace,
                        const Array<Exec, float>& packed);

}  // namespace shardmark::kernels
