// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/bag_divisor.hpp"
#include "kernels/bag_rows.hpp"
#include "kernels/balanced_ranges.hpp"
#include "kernels/pooled_lookup.hpp"
#include "kernels/streamed_output.hpp"

namespace shardmark::kernels {

/// Weighted rows added up in order, from 0.
struct SumRows {
  KOKKOS_FORCEINLINE_FUNCTION static Lanes first(Lanes value) { return 0.0F + value; }
  KOKKOS_FORCEINLINE_FUNCTION static Lanes join(Lanes pooled, Lanes value) { return pooled + value; }
};
/// Their maximum, column by column.
struct MaxRows {
  KOKKOS_FORCEINLINE_FUNCTION static Lanes first(Lanes value) { return value; }
  KOKKOS_FORCEINLINE_FUNCTION static Lanes join(Lanes pooled, Lanes value) { return larger(pooled, value); }
};

/// Consecutive bags of one shard, pooled one after the other while the rows of later ids are on their way.
template <class Rows, class Join, bool Weighted>
struct BagRun {
  Rows rows;
  Pooling pooling;
  const float* weights;  ///< by position, read if Weighted
  bool past_caches;      ///< outputs are whole cache lines and nobody reads them soon

  static constexpr std::int64_t blocks = Rows::blocks;

  /// vector[dim] = the pooled rows of positions [begin, end).
  KOKKOS_FORCEINLINE_FUNCTION void pool(std::int64_t begin, std::int64_t end, float* vector) const {
    for (std::int64_t column = 0; column < rows.dim; column += Rows::tile) pool_tile(begin, end, column, vector);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION Lanes value(std::int64_t position, std::int64_t column) const {
    const Lanes lanes = rows.lanes(position, column);
    return Weighted ? weights[position] * lanes : lanes;
  }

  KOKKOS_FORCEINLINE_FUNCTION void pool_tile(std::int64_t begin, std::int64_t end, std::int64_t column,
                                             float* vector) const {
    Lanes pooled[blocks];
    if (begin == end) {
      for (std::int64_t b = 0; b < blocks; ++b) pooled[b] = 0.0F;
    } else {
      if (column == 0) rows.ask_far_ahead_of(begin);
      for (std::int64_t b = 0; b < blocks; ++b) pooled[b] = Join::first(value(begin, column + b * lane_count));
    }
    for (std::int64_t i = begin + 1; i < end; ++i) {
      if (column == 0) {
        rows.ask_far_ahead_of(i);
        rows.ask_near_ahead_of(i);
      }
      for (std::int64_t b = 0; b < blocks; ++b) pooled[b] = Join::join(pooled[b], value(i, column + b * lane_count));
    }
    if (divides(pooling)) divide_lanes(pooled, bag_divisor(pooling, Weighted ? weights : nullptr, begin, end));
    for (std::int64_t c = column, b = 0; b < blocks; c += lane_count, ++b)
      store(vector + c, pooled[b], rows.lanes_at(c), past_caches);
  }

  /// As divide() has it. Dividing by a float gives the same bits in fp32 as in double.
  KOKKOS_FORCEINLINE_FUNCTION static void divide_lanes(Lanes (&pooled)[blocks], double divisor) {
    if (divisor == 1) return;
    const auto fp32_divisor = static_cast<float>(divisor);
    for (std::int64_t b = 0; b < blocks; ++b) {
      if (divisor == 0) {
        pooled[b] = 0.0F;
      } else if (static_cast<double>(fp32_divisor) == divisor) {
        pooled[b] = pooled[b] / fp32_divisor;
      } else {
        float values[lane_count];
        store_lanes(values, pooled[b], lane_count);
        divide(values, Block<lane_count>{}, divisor);
        pooled[b] = load_lanes(values, lane_count);
      }
    }
  }
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

/// Ranges per thread, so that threads that met rows in a cache take over from those that did not.
inline constexpr std::int64_t lookup_ranges_per_thread = 8;
inline constexpr std::int64_t smallest_lookup_range = 512;

template <class Exec>
BalancedRanges lookup_ranges(const Exec& exec, std::int64_t bags, std::int64_t ids) {
  const std::int64_t grain = (bags + ids) / (lookup_ranges_per_thread * exec.concurrency());
  return {bags, ids, Kokkos::max(grain, smallest_lookup_range)};
}

}  // namespace shardmark::kernels
