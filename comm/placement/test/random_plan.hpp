// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <random>

#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// Cuts every table into a random grid of row sets and columns on random ranks, or replicates it, or, with
/// hot_rows, its first rows, the others being cut by rows.
inline Plan random_plan(const std::vector<Table>& tables, int ranks, std::mt19937_64& random, bool hot_rows = true) {
  const auto draw = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
  };
  Plan plan{.name = "random", .ranks = ranks, .tables = {}};
  for (const Table& table : tables) {
    TablePlacement& placement = plan.tables.emplace_back();
    placement.data_parallel = draw(4) == 0;
    if (placement.data_parallel) continue;
    if (hot_rows && table.rows > 1 && draw(3) == 0) placement.hot_rows = 1 + draw(table.rows - 2);
    const std::int64_t hot = placement.hot_rows, others = table.rows - hot;
    const std::int64_t column = hot > 0 ? 0 : draw(table.dim - 1);
    const std::int64_t parts = std::min<std::int64_t>(others, 1 + draw(ranks - 1));
    const bool modulo = draw(1) == 1;
    std::vector<int> holders(static_cast<std::size_t>(ranks));
    for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>(0, column), std::pair(column, table.dim)}) {
      if (begin == end) continue;
      for (int r = 0; r < ranks; ++r) holders[r] = r;
      std::ranges::shuffle(holders, random);
      for (std::int64_t k = 0; k < parts; ++k) {
        const RowSet rows = modulo ? RowSet{hot + k, table.rows, parts}
                                   : RowSet{hot + k * others / parts, hot + (k + 1) * others / parts, 1};
        placement.shards.push_back({rows, begin, end, holders[k]});
      }
    }
  }
  return plan;
}

}  // namespace shardmark::placement
