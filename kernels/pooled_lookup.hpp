// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "kernels/bag_run.hpp"
#include "kernels/balanced_ranges.hpp"
#include "kernels/streamed_output.hpp"
#include "kernels/test_spin.hpp"
#include "kernels/work.hpp"

namespace shardmark::kernels {

/// A run of consecutive bags that read one shard and write vectors at a constant distance.
/// Partial bags of a shard take Pooling::sum (their divisor is applied at home, see divide_by_bag); mean and sqrtn
/// divide by the bag as it stands here. Pooling::none writes one vector per id, the first bag's first id at `output`.
struct LookupBlock {
  std::int64_t first_bag = 0;
  std::int64_t bags = 0;
  const void* rows = nullptr;  ///< [rows of the shard] of row_bytes(value_type, dim), back to back
  ValueType value_type = ValueType::fp32;
  std::int64_t dim = 0;
  std::int64_t output = 0;         ///< element of the first bag's vector
  std::int64_t output_stride = 0;  ///< elements from one vector to the next, at least dim
  Pooling pooling = Pooling::sum;
};

/// Calls body(block, first, stop) for the runs of bags [first, stop) of one block that make up a range. Blocks: of
/// LookupBlock or what derives from it, as pooled_lookup takes them.
template <class Blocks, class Offsets, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_each_bag_run(const BalancedRanges& ranges, std::int64_t range,
                                                  const Blocks& blocks, const Offsets& offsets, const Body& body) {
  std::int64_t bag = ranges.begin(range, offsets);
  const std::int64_t end = ranges.begin(range + 1, offsets);
  if (bag == end) return;
  const auto count = static_cast<std::int64_t>(blocks.extent(0));
  const std::int64_t last = last_at_most(count, bag, [&](std::int64_t i) { return blocks(i).first_bag; });
  for (std::int64_t b = Kokkos::max(last, std::int64_t{0}); bag < end && b < count; ++b) {
    const auto& block = blocks(b);
    bag = Kokkos::max(bag, block.first_bag);
    const std::int64_t stop = Kokkos::min(end, block.first_bag + block.bags);
    if (bag < stop) body(block, bag, stop);
    bag = Kokkos::max(bag, stop);
  }
}

/// Vectors of a block before that of bag `first`, whose first id is at position `begin`.
template <class Offsets>
KOKKOS_INLINE_FUNCTION std::int64_t vectors_before(const LookupBlock& block, std::int64_t first, std::int64_t begin,
                                                   const Offsets& offsets) {
  return block.pooling == Pooling::none ? begin - offsets(block.first_bag) : first - block.first_bag;
}

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
  /// Bags [first, stop) of one block.
  KOKKOS_INLINE_FUNCTION void run(const LookupBlock& block, std::int64_t first, std::int64_t stop) const {
    with_row_type(block.value_type, [&](auto row) {
      using Row = typename decltype(row)::type;
      if (block.pooling == Pooling::max)
        pool_bags<Row, MaxRows>(block, AnyWidth{block.dim}, first, stop);
      else
        with_width(block.dim, [&](auto dim) { pool_bags<Row, SumRows>(block, dim, first, stop); });
    });
  }

  /// Whether every bag of [first, stop) holds exactly one id, so that they are pooled as ids, without looking at ends.
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
    float* vector = &output(block.output) + vectors_before(block, first, begin, offsets) * block.output_stride;
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

/// Ranges per thread, so that threads that met rows in a cache take over from those that did not.
inline constexpr std::int64_t lookup_ranges_per_thread = 8;
inline constexpr std::int64_t smallest_lookup_range = 512;

template <class Exec>
BalancedRanges lookup_ranges(const Exec& exec, std::int64_t bags, std::int64_t ids) {
  const std::int64_t grain = (bags + ids) / (lookup_ranges_per_thread * exec.concurrency());
  return {bags, ids, Kokkos::max(grain, smallest_lookup_range)};
}

/// Pooled lookup of all bags of a rank in one launch: bag b is indices[offsets[b] .. offsets[b + 1]), local rows of the
/// shard of its block; its rows, times their weights, are summed in bag order in fp32 (or their maximum is taken). An
/// empty bag gives 0. Deterministic: a bag is pooled by one thread.
///   blocks:  in ascending order, together covering every bag once
///   offsets: [bags + 1] from 0;  indices: [nnz] int32 or int64;  weights: [nnz], or empty when every weight is 1
///   output:  apart from the rows
template <class Exec, class Blocks, class Indices>
requires on_host<Exec>
void pooled_lookup(const Exec& exec, const Blocks& blocks, ConstArray<Exec, std::int64_t> offsets,
                   const Indices& indices, ConstArray<Exec, float> weights, const Array<Exec, float>& output) {
  using Index = typename Indices::non_const_value_type;
  const std::int64_t bags = static_cast<std::int64_t>(offsets.extent(0)) - 1;
  const auto ids = static_cast<std::int64_t>(indices.extent(0));
  if (bags <= 0 || blocks.extent(0) == 0) return;
  [[maybe_unused]] const TestSpin<Exec> spin(exec);
  const BalancedRanges ranges = lookup_ranges(exec, bags, ids);
  const auto policy = dynamic_range(exec, ranges.count());
  if (weights.extent(0) == 0)
    Kokkos::parallel_for("shardmark::pooled_lookup", policy,
                         PooledLookup<Exec, Index, false>{blocks, offsets, indices, weights, output, ranges});
  else
    Kokkos::parallel_for("shardmark::pooled_lookup", policy,
                         PooledLookup<Exec, Index, true>{blocks, offsets, indices, weights, output, ranges});
}

/// What a batch asks of the lookup (and of the update that follows it).
struct LookupCounts {
  std::int64_t bags = 0;
  std::int64_t ids = 0;
  std::int64_t id_elements = 0;   ///< sum over ids of the dim of their row
  std::int64_t unique_bytes = 0;  ///< sum over distinct rows of their row_bytes
  std::int64_t output_elements = 0;
};

constexpr Work pooled_lookup_work(const LookupCounts& counts, bool weighted, std::int64_t index_bytes) {
  return {.bytes_read = counts.unique_bytes + counts.ids * (index_bytes + (weighted ? 4 : 0)) + (counts.bags + 1) * 8,
          .bytes_written = counts.output_elements * std::int64_t{sizeof(float)},
          .flops = counts.id_elements * (weighted ? 2 : 1)};
}

}  // namespace shardmark::kernels

#include "kernels/device/pooled_lookup.hpp"  // the same for devices
