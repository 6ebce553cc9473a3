// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/row_gradients.hpp"

namespace shardmark::kernels {

/// The distinct rows of one shard within packed vectors: row u at output + (u - first_row) * dim.
struct PackedRows {
  std::int64_t first_key = 0;
  std::int64_t dim = 0;
  std::int64_t first_row = 0;
  std::int64_t output = 0;
};

/// packed = gradient of every distinct row, one behind the other: what a rank sends to the owners of rows that it asked
/// for once. shards: by ascending first_key.
template <class Exec>
void pack_row_gradients(const Exec& exec, const RowGradients<Exec>& gradients,
                        const ShardList<Exec, PackedRows>& shards, RowGradientsWorkspace<Exec>& workspace,
                        const Array<Exec, float>& packed);

}  // namespace shardmark::kernels
