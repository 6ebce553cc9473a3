// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lookup/bag_divisor.hpp"
#include "kernels/lookup/column_blocks.hpp"
#include "kernels/lookup/pooled_lookup.hpp"
#include "kernels/lookup/stored_rows.hpp"
#include "kernels/lookup/streamed_output.hpp"
#include "kernels/prefetch.hpp"
#include "kernels/sort/balanced_ranges.hpp"

namespace shardmark::kernels {

/// Returns how many rows of `bytes` bytes are prefetched before they are summed, into the second-level cache. Measured
/// on Zen 4 with two threads: 32 to 40 is best for rows of 1 and 2 cache lines, 40 or more for 4, and from 12 on
/// nothing changes for 8; on Cascade Lake nothing changes from 12 to 48.
constexpr std::int64_t lookup_distance(std::int64_t bytes) {
  const std::int64_t rows = bytes > 0 ? 16384 / bytes : 40;
  return rows < 8 ? 8 : rows > 40 ? 40 : rows;
}

/// Gives ids where position i names row i.
struct EveryRow {
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t operator[](std::int64_t position) const { return position; }
};

/// Reads the rows of one shard that the positions of some consecutive bags name. Ids: a pointer by position, or
/// EveryRow.
template <class Row, class Ids, class Dim>
struct BagRows {
  const char* rows;  ///< [rows of the shard] of Row::bytes(dim)
  Dim dim;
  Ids ids;
  std::int64_t last;  ///< the last position whose row is prefetched
  PrefetchPolicy policy = prefetch_policy();

  /// These are the columns that are worked on at a time, and the registers they take.
  static constexpr std::int64_t tile = std::is_same_v<Dim, AnyWidth> ? 64 : Dim::capacity;
  static constexpr std::int64_t blocks = (tile + simd_width - 1) / simd_width;

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t bytes() const { return Row::bytes(dim); }
  KOKKOS_FORCEINLINE_FUNCTION const char* row(std::int64_t position) const {
    return rows + static_cast<std::int64_t>(ids[position]) * bytes();
  }

  /// Prefetches the rows of the first positions, then those ahead of each position.
  KOKKOS_FORCEINLINE_FUNCTION void ask_for_first(std::int64_t position) const {
    for (std::int64_t i = position; i < Kokkos::min(position + lookup_distance(bytes()), last + 1); ++i)
      prefetch(row(i), bytes(), policy.pairs_looked_up);
  }
  KOKKOS_FORCEINLINE_FUNCTION void ask_far_ahead_of(std::int64_t position) const {
    prefetch(row(Kokkos::min(position + lookup_distance(bytes()), last)), bytes(), policy.pairs_looked_up);
  }
  KOKKOS_FORCEINLINE_FUNCTION void ask_near_ahead_of(std::int64_t position) const {
    if (policy.near_lookup > 0) prefetch_near(row(Kokkos::min(position + policy.near_lookup, last)), bytes());
  }

  /// Returns how many of the simd lanes from `column` on are columns of the row.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t lanes_at(std::int64_t column) const {
    return Kokkos::max(std::int64_t{0}, Kokkos::min(std::int64_t{simd_width}, dim - column));
  }
  KOKKOS_FORCEINLINE_FUNCTION Simd lanes(std::int64_t position, std::int64_t column) const {
    return Row(row(position)).lanes(column, lanes_at(column));
  }
};

/// Adds up weighted rows in order, from 0.
struct SumRows {
  KOKKOS_FORCEINLINE_FUNCTION static Simd first(Simd value) { return 0.0F + value; }
  KOKKOS_FORCEINLINE_FUNCTION static Simd join(Simd pooled, Simd value) { return pooled + value; }
};
/// Takes their maximum, column by column.
struct MaxRows {
  KOKKOS_FORCEINLINE_FUNCTION static Simd first(Simd value) { return value; }
  KOKKOS_FORCEINLINE_FUNCTION static Simd join(Simd pooled, Simd value) { return larger(pooled, value); }
};

/// Pools consecutive bags of one shard, one after the other, while the rows of later ids are prefetched.
template <class Rows, class Join, bool Weighted>
struct BagRun {
  Rows rows;
  Pooling pooling;
  const float* weights;  ///< by position, read if Weighted
  bool past_caches;      ///< outputs are whole cache lines and nobody reads them soon

  static constexpr std::int64_t blocks = Rows::blocks;

  /// Sets vector[dim] to the pooled rows of positions [begin, end).
  KOKKOS_FORCEINLINE_FUNCTION void pool(std::int64_t begin, std::int64_t end, float* vector) const {
    for (std::int64_t column = 0; column < rows.dim; column += Rows::tile) pool_tile(begin, end, column, vector);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION Simd value(std::int64_t position, std::int64_t column) const {
    const Simd lanes = rows.lanes(position, column);
    return Weighted ? weights[position] * lanes : lanes;
  }

  KOKKOS_FORCEINLINE_FUNCTION void pool_tile(std::int64_t begin, std::int64_t end, std::int64_t column,
                                             float* vector) const {
    Simd pooled[blocks];
    if (begin == end) {
      for (std::int64_t b = 0; b < blocks; ++b) pooled[b] = 0.0F;
    } else {
      if (column == 0) rows.ask_far_ahead_of(begin);
      for (std::int64_t b = 0; b < blocks; ++b) pooled[b] = Join::first(value(begin, column + b * simd_width));
    }
    for (std::int64_t i = begin + 1; i < end; ++i) {
      if (column == 0) {
        rows.ask_far_ahead_of(i);
        rows.ask_near_ahead_of(i);
      }
      for (std::int64_t b = 0; b < blocks; ++b) pooled[b] = Join::join(pooled[b], value(i, column + b * simd_width));
    }
    if (divides(pooling)) divide_lanes(pooled, bag_divisor(pooling, Weighted ? weights : nullptr, begin, end));
    for (std::int64_t c = column, b = 0; b < blocks; c += simd_width, ++b)
      store(vector + c, pooled[b], rows.lanes_at(c), past_caches);
  }

  /// Divides as divide() does. Dividing by a float gives the same bits in fp32 as in double.
  KOKKOS_FORCEINLINE_FUNCTION static void divide_lanes(Simd (&pooled)[blocks], double divisor) {
    if (divisor == 1) return;
    const auto fp32_divisor = static_cast<float>(divisor);
    for (std::int64_t b = 0; b < blocks; ++b) {
      if (divisor == 0) {
        pooled[b] = 0.0F;
      } else if (static_cast<double>(fp32_divisor) == divisor) {
        pooled[b] = pooled[b] / fp32_divisor;
      } else {
        float values[simd_width];
        store_simd(values, pooled[b], simd_width);
        divide(values, Block<simd_width>{}, divisor);
        pooled[b] = load_simd(values, simd_width);
      }
    }
  }
};

/// Calls body(block, first, stop) for the runs of bags [first, stop) of one block that make up a range. Blocks: an
/// array of LookupBlock or what derives from it, as pooled_lookup takes them.
template <class Blocks, class Offsets, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_each_bag_run(const BalancedRanges& ranges, std::int64_t range,
                                                  const Blocks& blocks, const Offsets& offsets, const Body& body) {
  const std::int64_t bag = ranges.begin(range, offsets);
  const std::int64_t end = ranges.begin(range + 1, offsets);
  if (bag < end)
    for_block_runs(
        blocks, bag, end, [](const auto& block) { return block.first_bag; }, body);
}

/// Returns the number of vectors of a block before that of bag `first`, whose first id is at position `begin`.
template <class Offsets>
KOKKOS_INLINE_FUNCTION std::int64_t vectors_before(const LookupBlock& block, std::int64_t first, std::int64_t begin,
                                                   const Offsets& offsets) {
  return block.pooling == Pooling::none ? begin - offsets(block.first_bag) : first - block.first_bag;
}

/// Each thread gets several ranges, so that threads that found rows in a cache take over from those that did not.
inline constexpr std::int64_t lookup_ranges_per_thread = 8;
inline constexpr std::int64_t smallest_lookup_range = 512;

template <class Exec>
BalancedRanges lookup_ranges(const Exec& exec, std::int64_t bags, std::int64_t ids) {
  const std::int64_t grain = (bags + ids) / (lookup_ranges_per_thread * exec.concurrency());
  return {bags, ids, Kokkos::max(grain, smallest_lookup_range)};
}

}  // namespace shardmark::kernels
