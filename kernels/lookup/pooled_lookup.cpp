// SPDX-License-Identifier: Apache-2.0
#include "kernels/lookup/pooled_lookup.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/lookup/bag_run.hpp"
#include "kernels/lookup/device_pooled_lookup.hpp"
#include "kernels/lookup/test_spin.hpp"

namespace shardmark::kernels {

/// Pools on the host: a range of bags by one thread.
template <class Exec, class Index, bool Weighted>
struct PooledLookup {
  ConstArray<Exec, LookupBlock> blocks;
  ConstArray<Exec, std::int64_t> offsets;
  ConstArray<Exec, Index> indices;
  ConstArray<Exec, float> weights;
  Array<Exec, float> output;
  BalancedRanges ranges;

  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    for_each_bag_run(ranges, range, blocks, offsets,
                     [&](const LookupBlock& block, std::int64_t first, std::int64_t stop) { run(block, first, stop); });
    finish_stores_past_caches();
  }

 private:
  /// Pools bags [first, stop) of one block.
  KOKKOS_INLINE_FUNCTION void run(const LookupBlock& block, std::int64_t first, std::int64_t stop) const {
    with_row_type(block.value_type, [&](auto row) {
      using Row = typename decltype(row)::type;
      if (block.pooling == Pooling::max)
        pool_bags<Row, MaxRows>(block, AnyWidth{block.dim}, first, stop);
      else
        with_width(block.dim, [&](auto dim) { pool_bags<Row, SumRows>(block, dim, first, stop); });
    });
  }

  /// Returns whether every bag of [first, stop) holds exactly one id, so that they are pooled as ids, without reading
  /// their ends.
  KOKKOS_INLINE_FUNCTION bool one_id_each(std::int64_t first, std::int64_t stop) const {
    const std::int64_t before = offsets(first) - first;
    if (offsets(stop) - stop != before) return false;
    std::int64_t others = 0;
    for (std::int64_t bag = first; bag < stop; ++bag) others |= (offsets(bag) - bag) ^ before;
    return others == 0;
  }

  template <class Row, class Join, class Dim>
  KOKKOS_INLINE_FUNCTION void pool_bags(const LookupBlock& block, Dim dim, std::int64_t first,
                                        std::int64_t stop) const {
    const std::int64_t begin = offsets(first);
    const std::int64_t end = offsets(stop);
    float* vector = output.data() + block.output + vectors_before(block, first, begin, offsets) * block.output_stride;
    using Rows = BagRows<Row, const Index*, Dim>;
    const Rows rows{static_cast<const char*>(block.rows), dim, indices.data(), end - 1};
    const BagRun<Rows, Join, Weighted> run{rows, block.pooling, weights.data(),
                                           streams_output(output, block.output_stride, dim, vector)};
    rows.ask_for_first(begin);
    if (block.pooling == Pooling::none || one_id_each(first, stop)) {
      for (std::int64_t i = begin; i < end; ++i, vector += block.output_stride) run.pool(i, i + 1, vector);
    } else {
      for (std::int64_t bag = first; bag < stop; ++bag, vector += block.output_stride)
        run.pool(offsets(bag), offsets(bag + 1), vector);
    }
  }
};

template <class Exec, class Indices>
void pooled_lookup(const Exec& exec, ConstArray<Exec, LookupBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                   const Indices& indices, ConstArray<Exec, float> weights, const Array<Exec, float>& output) {
  using Index = typename Indices::non_const_value_type;
  const std::int64_t bags = static_cast<std::int64_t>(offsets.extent(0)) - 1;
  if (bags <= 0 || blocks.extent(0) == 0) return;
  [[maybe_unused]] const TestSpin<Exec> spin(exec);
  const auto pool = [&](auto weighted) {
    if constexpr (on_device<Exec>) {
      device::pool<Exec, Index, weighted>(exec, blocks, offsets, indices, weights, output);
    } else {
      const BalancedRanges ranges = lookup_ranges(exec, bags, static_cast<std::int64_t>(indices.extent(0)));
      Kokkos::parallel_for("shardmark::pooled_lookup", dynamic_range(exec, ranges.count()),
                           PooledLookup<Exec, Index, weighted>{blocks, offsets, indices, weights, output, ranges});
    }
  };
  if (weights.extent(0) == 0)
    pool(std::false_type{});
  else
    pool(std::true_type{});
}

SHARDMARK_INSTANCE(pooled_lookup<DefaultSpace, Array<DefaultSpace, std::int32_t>>)
SHARDMARK_INSTANCE(pooled_lookup<DefaultSpace, Array<DefaultSpace, std::int64_t>>)
SHARDMARK_INSTANCE(pooled_lookup<DefaultSpace, ConstArray<DefaultSpace, std::int32_t>>)
SHARDMARK_INSTANCE(pooled_lookup<DefaultSpace, ConstArray<DefaultSpace, std::int64_t>>)

}  // namespace shardmark::kernels
