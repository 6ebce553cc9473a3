// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/row_gradients.hpp"
#include "kernels/work.hpp"

namespace shardmark::kernels {

/// Where the gradients of the rows of one data-parallel table go: of row r to output + r * dim of the dense gradient of
/// all rows; or, with first_unique >= 0, of distinct row u to output + (u - first_unique) * dim of the packed ones.
struct DenseShard {
  std::int64_t first_key = 0;
  std::int64_t dim = 0;
  std::int64_t output = 0;
  std::int64_t first_unique = -1;
};

/// Element of the dense gradient where the gradient of row `key` begins. As gradient_offset of touched_rows it turns
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
  Array<Exec, float> dense, touched, packed;

  template <class Run>
  KOKKOS_FUNCTION void operator()(const DenseShard& shard, const Run& run) const {
    const bool packs = shard.first_unique >= 0;
    float* output = (packs ? packed : dense).data() + shard.output;
    with_dim(shard.dim, [&](auto dim) {
      run.for_each(dim, NoPrefetch{}, [&](std::int64_t u, std::int64_t row, const auto& tile) {
        if (!packs) touched(shard.first_key + row) = 1.0F;
        copy_gradient(dim, tile, output + (packs ? u - shard.first_unique : row) * dim);
      });
    });
  }
};

/// dense = gradient of every row of the shards, touched[key] = 1; both 0 where no id asked for the row: what
/// data_parallel tables all-reduce, so that touched counts the ranks that did. dense: [sum over shards of rows x dim];
/// touched: [keys]. Shards with first_unique >= 0 are in neither: what of them is touched lies in `packed`.
template <class Exec, class Unique, class GradientOffset>
requires on_host<Exec>
void reduce_to_dense(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
                     const ShardList<Exec, DenseShard>& shards, RowGradientsWorkspace<Exec>& workspace,
                     Array<Exec, float> dense, Array<Exec, float> touched, Array<Exec, float> packed = {}) {
  Kokkos::deep_copy(exec, dense, 0.0F);
  Kokkos::deep_copy(exec, touched, 0.0F);
  for_each_row_gradient("shardmark::reduce_to_dense", exec, gradients, shards, workspace,
                        StoreDense<Exec>{dense, touched, packed});
}

/// The keys that were touched, each used by the position of the same number: the rows of an all-reduced dense gradient.
template <class Exec>
struct TouchedRows {
  Array<Exec, std::int64_t> keys;   ///< [count] ascending
  Array<Exec, std::int64_t> total;  ///< [1] count

  std::int64_t positions() const { return static_cast<std::int64_t>(keys.extent(0)); }
  KOKKOS_INLINE_FUNCTION std::int64_t count() const { return total(0); }
  KOKKOS_INLINE_FUNCTION std::int64_t key(std::int64_t u) const { return keys(u); }
  KOKKOS_INLINE_FUNCTION std::int64_t begin(std::int64_t u) const { return u; }
  KOKKOS_INLINE_FUNCTION std::int64_t position(std::int64_t i) const { return keys(i); }
};

template <class Exec>
struct TouchedRowsWorkspace {
  Scratch<Exec, std::int64_t> keys{"shardmark::touched_keys"};
  Scratch<Exec, std::int64_t> total{"shardmark::touched_total"};
};

/// touched: [keys], 0 for rows that keep their values and state. The result lives in `workspace`.
template <class Exec>
TouchedRows<Exec> touched_rows(const Exec& exec, ConstArray<Exec, float> touched,
                               TouchedRowsWorkspace<Exec>& workspace) {
  const auto keys = static_cast<std::int64_t>(touched.extent(0));
  const TouchedRows<Exec> rows{workspace.keys.first(keys), workspace.total.first(1)};
  Kokkos::parallel_scan(
      "shardmark::touched_rows", static_range(exec, keys + 1),
      KOKKOS_LAMBDA(const std::int64_t key, std::int64_t& count, const bool final) {
        if (final && key == keys) rows.total(0) = count;
        if (key == keys || touched(key) == 0.0F) return;
        if (final) rows.keys(count) = key;
        ++count;
      });
  return rows;
}

constexpr Work reduce_to_dense_work(std::int64_t positions, std::int64_t position_elements, std::int64_t unique,
                                    std::int64_t gradient_elements, std::int64_t dense_elements, std::int64_t keys,
                                    bool weighted) {
  return {.bytes_read = gradient_elements * 4 + positions * (16 + (weighted ? 4 : 0)) + (2 * unique + 1) * 8,
          .bytes_written = (dense_elements + keys) * 4,
          .flops = position_elements * (weighted ? 2 : 1)};
}

constexpr Work touched_rows_work(std::int64_t keys, std::int64_t touched) {
  return {.bytes_read = keys * 4, .bytes_written = touched * 8, .flops = 0};
}

}  // namespace shardmark::kernels

#include "kernels/device/reduce_to_dense.hpp"  // the same for devices
