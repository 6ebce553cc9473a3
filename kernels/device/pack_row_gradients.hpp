// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/row_gradients.hpp"
#include "kernels/pack_row_gradients.hpp"

namespace shardmark::kernels::device {

template <class Exec>
struct StorePacked {
  Array<Exec, float> packed;

  template <class Columns>
  KOKKOS_FUNCTION void operator()(const PackedRows& shard, std::int64_t u, std::int64_t, const Columns& columns) const {
    float* out = packed.data() + shard.output + (u - shard.first_row) * shard.dim;
    columns.for_each([&](std::int64_t c, float g) { out[c] = g; });
  }
};

}  // namespace shardmark::kernels::device

namespace shardmark::kernels {

/// On a device: a warp per distinct row.
template <class Exec, class Unique, class GradientOffset>
requires on_device<Exec>
void pack_row_gradients(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
                        const ShardList<Exec, PackedRows>& shards, RowGradientsWorkspace<Exec>& workspace,
                        const Array<Exec, float>& packed) {
  device::for_each_row_gradient("shardmark::pack_row_gradients", exec, gradients, shards, workspace,
                                device::StorePacked<Exec>{packed});
}

}  // namespace shardmark::kernels
