// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/row_gradients.hpp"
#include "kernels/work.hpp"

namespace shardmark::kernels {

/// The rows of one data-parallel table within the dense gradient of all of them: row r at output + r * dim.
struct DenseShard {
  std::int64_t first_key = 0;
  std::int64_t dim = 0;
  std::int64_t output = 0;
};

/// Element of the dense gradient where the gradient of row `key` begins. As gradient_offset of identity_rows it turns
/// the all-reduced dense gradient into the input of fused_update.
template <class Exec>
struct DenseOffset {
  ShardList<Exec, DenseShard> list;

  KOKKOS_INLINE_FUNCTION std::int64_t operator()(std::int64_t key) const {
    const auto& shard = list.shards(list.find(key));
    return shard.output + (key - shard.first_key) * shard.dim;
  }
};

template <class Exec>
struct StoreDense {
  Array<Exec, float> dense;

  KOKKOS_INLINE_FUNCTION bool wants_square_sum(const DenseShard&) const { return false; }
  template <class Dim>
  KOKKOS_INLINE_FUNCTION void prefetch_row(const DenseShard&, Dim, std::int64_t) const {}
  KOKKOS_INLINE_FUNCTION double begin_row(std::int64_t, const DenseShard&, std::int64_t, double) const { return 0; }
  template <class Width>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const DenseShard& shard, std::int64_t row, std::int64_t column,
                                              Width width, const float* g, double) const {
    float* out = &dense(shard.output + row * shard.dim + column);
    for (std::int64_t d = 0; d < width; ++d) out[d] = g[d];
  }
};

/// dense = gradient of every row of the shards, 0 where no id asked for it: what data_parallel tables all-reduce.
/// dense: [sum over shards of rows x dim].
template <class Exec, class Unique, class GradientOffset>
void reduce_to_dense(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
                     const ShardList<Exec, DenseShard>& shards, RowGradientsWorkspace<Exec>& workspace,
                     Array<Exec, float> dense) {
  Kokkos::deep_copy(exec, dense, 0.0F);
  for_each_row_gradient("shardmark::reduce_to_dense", exec, gradients, shards, workspace, StoreDense<Exec>{dense});
}

constexpr Work reduce_to_dense_work(std::int64_t positions, std::int64_t position_elements, std::int64_t unique,
                                    std::int64_t gradient_elements, std::int64_t dense_elements, bool weighted) {
  return {.bytes_read = gradient_elements * 4 + positions * (16 + (weighted ? 4 : 0)) + (2 * unique + 1) * 8,
          .bytes_written = dense_elements * 4,
          .flops = position_elements * (weighted ? 2 : 1)};
}

}  // namespace shardmark::kernels
