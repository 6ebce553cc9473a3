// SPDX-License-Identifier: Apache-2.0
#include "kernels/update/summed_gradients.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/update/for_each_row_gradient.hpp"
#include "reference/work.hpp"

namespace shardmark::kernels {

template <class Exec>
struct StoreSummed {
  UniqueRows<Exec> rows;
  std::uint64_t* words;  ///< with `segments` and position_bits those of the rows that are summed
  std::int64_t* segments;
  int position_bits;
  float* sums;
  std::int64_t stride;

  /// Stores on the host a run of rows.
  template <class Run>
  KOKKOS_FUNCTION void operator()(const GradientShard& shard, const Run& run) const {
    with_dim(shard.dim, [&](auto dim) {
      run.for_each(dim, host::NoPrefetch{}, [&](std::int64_t u, std::int64_t, const auto& tile) {
        host::copy_gradient(dim, tile, sums + u * stride);
        place(u);
      });
    });
  }

  /// Stores on a device the columns of one row.
  template <class Columns>
  KOKKOS_FUNCTION void operator()(const GradientShard&, std::int64_t u, std::int64_t, const Columns& columns) const {
    columns.for_each_gradient([&](int c, const device::Chunk<float, 4>& g) {
      device::write_four(sums + u * stride + c, g, columns.dim - c);
      if (c == 0) place(u);
    });
  }

 private:
  /// Gives each row one position.
  KOKKOS_FORCEINLINE_FUNCTION void place(std::int64_t u) const {
    words[u] = key_word(rows.key(u), u * stride, position_bits);
    if (u == 0) segments[0] = 0;
    segments[u + 1] = u + 1;
  }
};

template <class Exec>
RowGradients<Exec> summed_gradients(const Exec& exec, const RowGradients<Exec>& gradients, std::int64_t key_bound,
                                    const ShardList<Exec, GradientShard>& shards,
                                    SummedGradientsWorkspace<Exec>& workspace) {
  const std::int64_t n = gradients.unique.positions(), stride = shards.largest_dim;
  const int position_bits = bits_below(n * stride);
  if (n == 0 || bits_below(key_bound) + position_bits > 64) return gradients;
  const UniqueRows<Exec> summed{workspace.words.first(n), workspace.segments.first(n + 1), gradients.unique.total,
                                position_bits};
  const Array<Exec, float> sums = workspace.sums.first(n * stride);
  for_each_row_gradient("shardmark::summed_gradients", exec, gradients, shards, workspace.rows,
                        StoreSummed<Exec>{gradients.unique, summed.words.data(), summed.segments.data(), position_bits,
                                          sums.data(), stride});
  return {summed, {}, {}, sums};
}

SHARDMARK_INSTANCE(summed_gradients<DefaultSpace>)

}  // namespace shardmark::kernels
