// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark::placement {

/// Splits the columns of each table into n = min(ranks, dim) strips, the first dim mod n of them one wider. The first
/// strip of a table goes to the rank after the last wide strip of the table before, so that ranks hold equally many
/// columns in total.
inline std::vector<TablePlacement> place_column_wise(std::span<const Table> tables, std::span<const Feature>,
                                                     const PlanRequest& request) {
  std::vector<TablePlacement> placements;
  std::int64_t first_rank = 0;
  for (const Table& table : tables) {
    const std::int64_t strips = std::min<std::int64_t>(request.ranks, table.dim);
    TablePlacement placement;
    std::int64_t begin = 0;
    for (std::int64_t strip = 0; strip < strips; ++strip) {
      const std::int64_t end = begin + table.dim / strips + (strip < table.dim % strips ? 1 : 0);
      const int rank = static_cast<int>((first_rank + strip) % request.ranks);
      placement.shards.push_back({{0, table.rows, 1}, begin, end, rank});
      begin = end;
    }
    first_rank = (first_rank + table.dim) % request.ranks;
    placements.push_back(std::move(placement));
  }
  return placements;
}

}  // namespace shardmark::placement
