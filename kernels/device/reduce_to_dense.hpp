// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/row_gradients.hpp"
#include "kernels/reduce_to_dense.hpp"

namespace shardmark::kernels::device {

template <class Exec>
struct StoreDense {
  Array<Exec, float> dense, touched;

  template <class Columns>
  KOKKOS_FUNCTION void operator()(const DenseShard& shard, std::int64_t, std::int64_t row,
                                  const Columns& columns) const {
    columns.for_each([&](std::int64_t c, float g) {
      dense(shard.output + row * shard.dim + c) = g;
      if (c == 0) touched(shard.first_key + row) = 1.0F;
    });
  }
};

/// kernels::reduce_to_dense, a warp per distinct row.
template <class Exec, class Unique, class GradientOffset>
void reduce_to_dense(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
                     const ShardList<Exec, DenseShard>& shards, RowGradientsWorkspace<Exec>& workspace,
                     Array<Exec, float> dense, Array<Exec, float> touched) {
  Kokkos::deep_copy(exec, dense, 0.0F);
  Kokkos::deep_copy(exec, touched, 0.0F);
  device::for_each_row_gradient("shardmark::reduce_to_dense", exec, gradients, shards, workspace,
                                StoreDense<Exec>{dense, touched});
}

}  // namespace shardmark::kernels::device

namespace shardmark::kernels {

template <class Exec, class Unique, class GradientOffset>
requires on_device<Exec>
void reduce_to_dense(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
                     const ShardList<Exec, DenseShard>& shards, RowGradientsWorkspace<Exec>& workspace,
                     Array<Exec, float> dense, Array<Exec, float> touched) {
  device::reduce_to_dense(exec, gradients, shards, workspace, dense, touched);
}

}  // namespace shardmark::kernels
