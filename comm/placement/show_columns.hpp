// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "comm/placement/show.hpp"

namespace shardmark::placement {

template <Phase phase>
double ms_of(const RankFacts& rank) {
  return 1e3 * rank.seconds[index_of(phase)];
}

/// Describes one fact that is printed for each rank: JSON has `key`, text `heading` and value / unit.
struct RankColumn {
  std::string_view key, heading;
  int width, decimals;
  double unit;
  double (*value)(const RankFacts&);

  /// Prints `amount` with as many decimals as the width leaves, at most `decimals`.
  std::string text(double amount) const {
    std::string text = fmt::format("{:.{}f}", amount / unit, decimals);
    for (int fewer = decimals - 1; std::ssize(text) >= width && fewer >= 0; --fewer)
      text = fmt::format("{:.{}f}", amount / unit, fewer);
    return fmt::format("{:>{}}", text, width);
  }
};

constexpr std::array rank_columns{
    RankColumn{"tables", "tables", 7, 0, 1.0,
               [](const RankFacts& rank) { return static_cast<double>(rank.load.tables); }},
    RankColumn{"rows", "rows", 13, 0, 1.0, [](const RankFacts& rank) { return static_cast<double>(rank.load.rows); }},
    RankColumn{"held_bytes", "tables MB", 11, 3, 1e6,
               [](const RankFacts& rank) { return static_cast<double>(rank.load.bytes()); }},
    RankColumn{"memory_bytes", "memory MB", 11, 3, 1e6, [](const RankFacts& rank) { return rank.memory; }},
    RankColumn{"ids_per_sample", "ids/sample", 11, 3, 1.0, [](const RankFacts& rank) { return rank.ids_per_sample; }},
    RankColumn{"sent_bytes", "sent MB", 9, 2, 1e6, [](const RankFacts& rank) { return rank.sent; }},
    RankColumn{"received_bytes", "recv MB", 9, 2, 1e6, [](const RankFacts& rank) { return rank.received; }},
    RankColumn{"input_dist_ms", "input", 8, 3, 1.0, ms_of<Phase::input_dist>},
    RankColumn{"lookup_ms", "lookup", 8, 3, 1.0, ms_of<Phase::lookup>},
    RankColumn{"output_dist_ms", "output", 8, 3, 1.0, ms_of<Phase::output_dist>},
    RankColumn{"grad_dist_ms", "grad", 8, 3, 1.0, ms_of<Phase::grad_dist>},
    RankColumn{"update_ms", "update", 8, 3, 1.0, ms_of<Phase::update>},
};

/// Returns what the slowest rank computes over the mean.
inline double imbalance_of(const PhasePrediction& phase) {
  const double mean = phase.mean - phase.exchange;
  return mean > 0.0 ? (phase.seconds - phase.exchange) / mean : 1.0;
}

/// Returns the bytes of values and state of the whole table, or of its cores.
inline std::int64_t bytes_of(const Table& table) { return load_of(whole(table, 0), table).bytes(); }

/// Returns how many shards, or copies, a table has.
inline std::int64_t shards_of(const TablePlacement& placement, int ranks) {
  return placement.data_parallel ? ranks : std::ssize(placement.shards);
}

}  // namespace shardmark::placement
