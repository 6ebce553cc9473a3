// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/column_blocks.hpp"
#include "kernels/prefetch.hpp"
#include "kernels/stored_rows.hpp"

namespace shardmark::kernels {

/// How many rows of `bytes` bytes ahead of the sum are asked for, into the second cache. Measured on Zen 4 with two
/// threads: 32 to 40 is best for rows of 1 and 2 cache lines, 40 or more for 4, and from 12 on nothing changes for 8;
/// on Cascade Lake nothing changes from 12 to 48.
constexpr std::int64_t lookup_distance(std::int64_t bytes) {
  const std::int64_t rows = bytes > 0 ? 16384 / bytes : 40;
  return rows < 8 ? 8 : rows > 40 ? 40 : rows;
}

/// Ids where position i names row i.
struct EveryRow {
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t operator[](std::int64_t position) const { return position; }
};

/// The rows of one shard that the positions of some consecutive bags name. Ids: a pointer by position, or EveryRow.
template <class Row, class Ids, class Dim>
struct BagRows {
  const char* rows;  ///< [rows of the shard] of Row::bytes(dim)
  Dim dim;
  Ids ids;
  std::int64_t last;  ///< the last position, as far as rows are asked for
  PrefetchPolicy policy = prefetch_policy();

  /// Columns that are worked on at a time, and the registers they take.
  static constexpr std::int64_t tile = std::is_same_v<Dim, AnyWidth> ? 64 : Dim::capacity;
  static constexpr std::int64_t blocks = (tile + lane_count - 1) / lane_count;

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t bytes() const { return Row::bytes(dim); }
  KOKKOS_FORCEINLINE_FUNCTION const char* row(std::int64_t position) const {
    return rows + static_cast<std::int64_t>(ids[position]) * bytes();
  }

  /// Asks for the rows of the first positions, then for those ahead of each position.
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

  /// How many of the lanes from `column` on are columns of the row.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t lanes_at(std::int64_t column) const {
    return Kokkos::max(std::int64_t{0}, Kokkos::min(std::int64_t{lane_count}, dim - column));
  }
  KOKKOS_FORCEINLINE_FUNCTION Lanes lanes(std::int64_t position, std::int64_t column) const {
    return Row(row(position)).lanes(column, lanes_at(column));
  }
};

}  // namespace shardmark::kernels
