// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardmark::placement {

/// Holds how long each exchange takes between one group of ranks, relative to MPI_Alltoallv, for traffic of several
/// sizes and shapes. The exchange `auto` picks by it.
struct ExchangeRatios {
  /// A Cell holds what was measured on one traffic.
  struct Cell {
    std::int64_t bytes = 0;  ///< that a rank sends to a rank, in the mean over all pairs
    bool skewed = false;     ///< true: rank 0 is sent as much as all others together; false: all are sent the same
    /// Has for each exchange the upper quartile over the repeats of (its time / that of MPI_Alltoallv in the same
    /// repeat); a time is that of the slowest rank. 0.9 thus says: in three of four repeats it took at most 90 % of the
    /// time.
    std::vector<double> ratios;

    bool operator==(const Cell&) const = default;
  };

  int ranks = 1;                       ///< between which it was measured
  int nodes = 1;                       ///< that they were on
  std::vector<std::string> exchanges;  ///< names, with their numbers: "bruck:2"
  std::vector<Cell> cells;

  /// Returns the exchange, as an index of `exchanges`, that took the least time at the measured sizes next below and
  /// above `bytes`, by the worse of the two ratios. Only those with allowed[index] are considered, and only ratios
  /// below 0.95, so that noise does not choose. std::nullopt means MPI_Alltoallv; it is also the answer above four
  /// times the largest measured size, about which nothing is known.
  std::optional<std::size_t> best(double bytes, bool skewed, const std::vector<bool>& allowed) const;

  bool operator==(const ExchangeRatios&) const = default;
};

/// Returns whether traffic counts as skewed, where the busiest rank has `busiest` and a rank in the mean `mean`.
inline bool is_skewed(double busiest, double mean) { return busiest > 1.5 * mean; }

}  // namespace shardmark::placement
