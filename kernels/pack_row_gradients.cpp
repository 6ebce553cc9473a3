// SPDX-License-Identifier: Apache-2.0
#include "kernels/pack_row_gradients.hpp"

#include "kernels/for_each_row_gradient.hpp"
#include "kernels/instantiate.hpp"

namespace shardmark::kernels {

template <class Exec>
struct StorePacked {
  Array<Exec, float> packed;

  /// On the host: a run of rows.
  template <class Run>
  KOKKOS_FUNCTION void operator()(const PackedRows& shard, const Run& run) const {
    with_dim(shard.dim, [&](auto dim) {
      run.for_each(dim, host::NoPrefetch{}, [&](std::int64_t u, std::int64_t, const auto& tile) {
        host::copy_gradient(dim, tile, &packed(shard.output + (u - shard.first_row) * dim));
      });
    });
  }

  /// On a device: the columns of one row.
  template <class Columns>
  KOKKOS_FUNCTION void operator()(const PackedRows& shard, std::int64_t u, std::int64_t, const Columns& columns) const {
    float* out = packed.data() + shard.output + (u - shard.first_row) * shard.dim;
    columns.for_each([&](std::int64_t c, float g) { out[c] = g; });
  }
};

template <class Exec>
void pack_row_gradients(const Exec& exec, const RowGradients<Exec>& gradients,
                        const ShardList<Exec, PackedRows>& shards, RowGradientsWorkspace<Exec>& workspace,
                        const Array<Exec, float>& packed) {
  for_each_row_gradient("shardmark::pack_row_gradients", exec, gradients, shards, workspace, StorePacked<Exec>{packed});
}

#define PACK_ROW_GRADIENTS_ON(Exec) SHARDMARK_INSTANCE(pack_row_gradients<Exec>)
SHARDMARK_ON_EACH_SPACE(PACK_ROW_GRADIENTS_ON)

}  // namespace shardmark::kernels
