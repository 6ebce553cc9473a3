// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/row_gradients.hpp"
#include "kernels/reduce_to_dense.hpp"

namespace shardmark::kernels::device {

template <class Exec>
struct StoreDense {
  Array<Exec, float> dense, touched, packed;

  template <class Columns>
  KOKKOS_FUNCTION void operator()(const DenseShard& shard, std::int64_t u, std::int64_t row,
                                  const Columns& columns) const {
    const bool packs = shard.first_unique >= 0;
    float* out = (packs ? packed : dense).data() + shard.output + (packs ? u - shard.first_unique : row) * shard.dim;
    columns.for_each([&](std::int64_t c, float g) {
      out[c] = g;
      if (c == 0 && !packs) touched(shard.first_key + row) = 1.0F;
    });
  }
};

}  // namespace shardmark::kernels::device

namespace shardmark::kernels {

/// On a device: a warp per distinct row.
template <class Exec, class Unique, class GradientOffset>
requires on_device<Exec>
void reduce_to_dense(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
                     const ShardList<Exec, DenseShard>& shards, RowGradientsWorkspace<Exec>& workspace,
                     Array<Exec, float> dense, Array<Exec, float> touched, Array<Exec, float> packed = {}) {
  Kokkos::deep_copy(exec, dense, 0.0F);
  Kokkos::deep_copy(exec, touched, 0.0F);
  device::for_each_row_gradient("shardmark::reduce_to_dense", exec, gradients, shards, workspace,
                                device::StoreDense<Exec>{dense, touched, packed});
}

}  // namespace shardmark::kernels
