// SPDX-License-Identifier: Apache-2.0
#include "kernels/update/stored_gradients.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/sort/radix_sort.hpp"
#include "kernels/update/for_each_row_gradient.hpp"

namespace shardmark::kernels {

template <class Exec>
struct StoreDense {
  Array<Exec, float> dense, touched, packed;

  /// Stores on the host a run of rows.
  template <class Run>
  KOKKOS_FUNCTION void operator()(const DenseShard& shard, const Run& run) const {
    const bool packs = shard.first_unique >= 0;
    float* output = (packs ? packed : dense).data() + shard.output;
    with_dim(shard.dim, [&](auto dim) {
      run.for_each(dim, host::NoPrefetch{}, [&](std::int64_t u, std::int64_t row, const auto& tile) {
        if (!packs) touched(shard.first_key + row) = 1.0F;
        host::copy_gradient(dim, tile, output + (packs ? u - shard.first_unique : row) * dim);
      });
    });
  }

  /// Stores on a device the columns of one row.
  template <class Columns>
  KOKKOS_FUNCTION void operator()(const DenseShard& shard, std::int64_t u, std::int64_t row,
                                  const Columns& columns) const {
    const bool packs = shard.first_unique >= 0;
    float* out = (packs ? packed : dense).data() + shard.output + (packs ? u - shard.first_unique : row) * shard.dim;
    columns.for_each_gradient([&](int c, const device::Chunk<float, 4>& g) {
      device::write_four(out + c, g, columns.dim - c);
      if (c == 0 && !packs) touched(shard.first_key + row) = 1.0F;
    });
  }
};

template <class Exec>
void reduce_to_dense(const Exec& exec, const RowGradients<Exec>& gradients, const ShardList<Exec, DenseShard>& shards,
                     RowGradientsWorkspace<Exec>& workspace, Array<Exec, float> dense, Array<Exec, float> touched,
                     Array<Exec, float> packed) {
  for_each_row_gradient("shardmark::reduce_to_dense", exec, gradients, shards, workspace,
                        StoreDense<Exec>{dense, touched, packed});
}

template <class Exec>
UniqueRows<Exec> touched_rows(const Exec& exec, ConstArray<Exec, float> touched,
                              const ShardList<Exec, DenseShard>& shards, std::int64_t dense_elements,
                              UniqueRowsWorkspace<Exec>& workspace) {
  const auto keys = static_cast<std::int64_t>(touched.extent(0));
  const UniqueRows<Exec> rows{workspace.words.first(keys), workspace.segments.first(keys + 1), workspace.total.first(1),
                              RadixPlan(keys, dense_elements, keys).position_bits};
  Kokkos::parallel_scan(
      "shardmark::touched_rows", static_range(exec, keys + 1),
      KOKKOS_LAMBDA(const std::int64_t key, std::int64_t& count, const bool final) {
        if (final && key == keys) {
          rows.total(0) = count;
          rows.segments(count) = count;
        }
        if (key == keys || touched(key) == 0.0F) return;
        if (final) {
          const auto& shard = shards.shards(shards.find(key));
          rows.segments(count) = count;
          rows.words(count) = rows.word(key, shard.output + (key - shard.first_key) * shard.dim);
        }
        ++count;
      });
  return rows;
}

SHARDMARK_INSTANCE(reduce_to_dense<DefaultSpace>)
SHARDMARK_INSTANCE(touched_rows<DefaultSpace>)

template <class Exec>
struct StorePacked {
  Array<Exec, float> packed;

  /// Stores on the host a run of rows.
  template <class Run>
  KOKKOS_FUNCTION void operator()(const PackedRows& shard, const Run& run) const {
    with_dim(shard.dim, [&](auto dim) {
      run.for_each(dim, host::NoPrefetch{}, [&](std::int64_t u, std::int64_t, const auto& tile) {
        host::copy_gradient(dim, tile, &packed(shard.output + (u - shard.first_row) * dim));
      });
    });
  }

  /// Stores on a device the columns of one row.
  template <class Columns>
  KOKKOS_FUNCTION void operator()(const PackedRows& shard, std::int64_t u, std::int64_t, const Columns& columns) const {
    float* out = packed.data() + shard.output + (u - shard.first_row) * shard.dim;
    columns.for_each_gradient(
        [&](int c, const device::Chunk<float, 4>& g) { device::write_four(out + c, g, columns.dim - c); });
  }
};

template <class Exec>
void pack_row_gradients(const Exec& exec, const RowGradients<Exec>& gradients,
                        const ShardList<Exec, PackedRows>& shards, RowGradientsWorkspace<Exec>& workspace,
                        const Array<Exec, float>& packed) {
  for_each_row_gradient("shardmark::pack_row_gradients", exec, gradients, shards, workspace, StorePacked<Exec>{packed});
}

SHARDMARK_INSTANCE(pack_row_gradients<DefaultSpace>)

}  // namespace shardmark::kernels
