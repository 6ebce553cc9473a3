// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/row_gradients.hpp"
#include "kernels/work.hpp"

namespace shardmark::kernels {

/// The distinct rows of one shard within packed vectors: row u at output + (u - first_row) * dim.
struct PackedRows {
  std::int64_t first_key = 0;
  std::int64_t dim = 0;
  std::int64_t first_row = 0;
  std::int64_t output = 0;
};

template <class Exec>
struct StorePacked {
  Array<Exec, float> packed;

  template <class Run>
  KOKKOS_FUNCTION void operator()(const PackedRows& shard, const Run& run) const {
    with_dim(shard.dim, [&](auto dim) {
      run.for_each(dim, NoPrefetch{}, [&](std::int64_t u, std::int64_t, const auto& tile) {
        copy_gradient(dim, tile, &packed(shard.output + (u - shard.first_row) * dim));
      });
    });
  }
};

/// packed = gradient of every distinct row, one behind the other: what a rank sends to the owners of rows that it asked
/// for once. shards: by ascending first_key.
template <class Exec, class Unique, class GradientOffset>
requires on_host<Exec>
void pack_row_gradients(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
                        const ShardList<Exec, PackedRows>& shards, RowGradientsWorkspace<Exec>& workspace,
                        const Array<Exec, float>& packed) {
  for_each_row_gradient("shardmark::pack_row_gradients", exec, gradients, shards, workspace, StorePacked<Exec>{packed});
}

constexpr Work pack_row_gradients_work(std::int64_t positions, std::int64_t position_elements, std::int64_t unique,
                                       std::int64_t gradient_elements, bool weighted) {
  return {.bytes_read = position_elements * 4 + positions * (16 + (weighted ? 4 : 0)) + (2 * unique + 1) * 8,
          .bytes_written = gradient_elements * 4,
          .flops = position_elements * (weighted ? 2 : 1)};
}

}  // namespace shardmark::kernels

#include "kernels/device/pack_row_gradients.hpp"  // the same for devices
