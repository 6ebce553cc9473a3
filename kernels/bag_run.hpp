// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/bag_divisor.hpp"
#include "kernels/row_sum.hpp"
#include "kernels/stored_rows.hpp"

namespace shardmark::kernels {

/// How many rows of `bytes` bytes ahead of the sum are asked for, into the second cache and then into the first.
/// Measured on Zen 4 with two threads: of the far distance 32 to 40 is best for rows of 1 and 2 cache lines, 40 or more
/// for 4, and from 12 on nothing changes for 8. The near one gains 5 % on fp32 rows and up to half on narrower types; a
/// bag of one id is faster without it.
constexpr std::int64_t lookup_distance(std::int64_t bytes) {
  const std::int64_t rows = bytes > 0 ? 16384 / bytes : 40;
  return rows < 8 ? 8 : rows > 40 ? 40 : rows;
}
inline constexpr std::int64_t near_lookup_distance = 8;

/// Weighted rows added up in order, from 0.
struct SumRows {
  KOKKOS_FORCEINLINE_FUNCTION static Lanes first(Lanes value) { return Lanes::of(0) + value; }
  KOKKOS_FORCEINLINE_FUNCTION static Lanes join(Lanes pooled, Lanes value) { return pooled + value; }
};
/// Their maximum, column by column.
struct MaxRows {
  KOKKOS_FORCEINLINE_FUNCTION static Lanes first(Lanes value) { return value; }
  KOKKOS_FORCEINLINE_FUNCTION static Lanes join(Lanes pooled, Lanes value) { return larger(pooled, value); }
};

/// Consecutive bags of one shard, pooled one after the other while the rows of later ids are on their way.
template <class Row, class Join, bool Weighted, class Index, class Dim>
struct BagRun {
  const char* rows;  ///< [rows of the shard] of Row::bytes(dim)
  Dim dim;
  Pooling pooling;
  const Index* ids;      ///< by position
  const float* weights;  ///< by position, read if Weighted
  std::int64_t last;     ///< position of the run's last id
  bool past_caches;      ///< outputs are whole cache lines and nobody reads them soon

  /// Columns that are pooled at a time, and the registers they take.
  static constexpr std::int64_t tile = std::is_same_v<Dim, AnyWidth> ? 64 : Dim::capacity;
  static constexpr std::int64_t blocks = (tile + lane_count - 1) / lane_count;

  KOKKOS_FORCEINLINE_FUNCTION const char* row(std::int64_t position) const {
    return rows + static_cast<std::int64_t>(ids[position]) * Row::bytes(dim);
  }
  /// Asks for the rows of the first positions of the run, then for those ahead of each position.
  KOKKOS_FORCEINLINE_FUNCTION void ask_for_first(std::int64_t position) const {
    const std::int64_t bytes = Row::bytes(dim);
    for (std::int64_t i = position; i < Kokkos::min(position + lookup_distance(bytes), last + 1); ++i)
      prefetch(row(i), bytes);
  }
  KOKKOS_FORCEINLINE_FUNCTION void ask_far_ahead_of(std::int64_t position) const {
    const std::int64_t bytes = Row::bytes(dim);
    prefetch(row(Kokkos::min(position + lookup_distance(bytes), last)), bytes);
  }
  KOKKOS_FORCEINLINE_FUNCTION void ask_near_ahead_of(std::int64_t position) const {
    prefetch_near(row(Kokkos::min(position + near_lookup_distance, last)), Row::bytes(dim));
  }

  /// vector[dim] = the pooled rows of positions [begin, end).
  KOKKOS_FORCEINLINE_FUNCTION void pool(std::int64_t begin, std::int64_t end, float* vector) const {
    for (std::int64_t column = 0; column < dim; column += tile) pool_tile(begin, end, column, vector);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t lanes_at(std::int64_t column) const {
    return Kokkos::max(std::int64_t{0}, Kokkos::min(lane_count, dim - column));
  }
  KOKKOS_FORCEINLINE_FUNCTION Lanes value(std::int64_t position, std::int64_t column) const {
    const Lanes lanes = Row(row(position)).lanes(column, lanes_at(column));
    return Weighted ? Lanes::of(weights[position]) * lanes : lanes;
  }

  KOKKOS_FORCEINLINE_FUNCTION void pool_tile(std::int64_t begin, std::int64_t end, std::int64_t column,
                                             float* vector) const {
    Lanes pooled[blocks];
    if (begin == end) {
      for (std::int64_t b = 0; b < blocks; ++b) pooled[b] = Lanes::of(0);
    } else {
      if (column == 0) ask_far_ahead_of(begin);
      for (std::int64_t b = 0; b < blocks; ++b) pooled[b] = Join::first(value(begin, column + b * lane_count));
    }
    for (std::int64_t i = begin + 1; i < end; ++i) {
      if (column == 0) {
        ask_far_ahead_of(i);
        ask_near_ahead_of(i);
      }
      for (std::int64_t b = 0; b < blocks; ++b) pooled[b] = Join::join(pooled[b], value(i, column + b * lane_count));
    }
    if (divides(pooling)) divide_lanes(pooled, bag_divisor(pooling, Weighted ? weights : nullptr, begin, end));
    for (std::int64_t b = 0; b < blocks; ++b) store(vector, column + b * lane_count, pooled[b]);
  }

  KOKKOS_FORCEINLINE_FUNCTION void store(float* vector, std::int64_t column, Lanes lanes) const {
    if (past_caches && lanes_at(column) == lane_count)
      store_past_caches(vector + column, lanes);
    else
      store_lanes(vector + column, lanes, lanes_at(column));
  }

  /// As divide() has it. Dividing by a float gives the same bits in fp32 as in double.
  KOKKOS_FORCEINLINE_FUNCTION static void divide_lanes(Lanes (&pooled)[blocks], double divisor) {
    if (divisor == 1) return;
    const auto fp32_divisor = static_cast<float>(divisor);
    for (std::int64_t b = 0; b < blocks; ++b) {
      if (divisor == 0) {
        pooled[b] = Lanes::of(0);
      } else if (static_cast<double>(fp32_divisor) == divisor) {
        pooled[b] = pooled[b] / Lanes::of(fp32_divisor);
      } else {
        float values[lane_count];
        store_lanes(values, pooled[b], lane_count);
        divide(values, Width<lane_count>{}, divisor);
        pooled[b] = load_lanes(values, lane_count);
      }
    }
  }
};

}  // namespace shardmark::kernels
