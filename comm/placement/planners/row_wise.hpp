// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark {

/// Row r of every table on rank r mod ranks; rank k holds rows / ranks + (k < rows mod ranks) of them. (HugeCTR:
/// distributed.) Neighbouring, equally popular ids go to different ranks.
inline std::vector<TablePlacement> place_row_wise(std::span<const Table> tables, std::span<const Feature>,
                                                  const PlanRequest& request) {
  std::vector<TablePlacement> placements;
  for (const Table& table : tables) {
    const std::int64_t holders = std::min<std::int64_t>(request.ranks, table.rows);
    TablePlacement placement;
    for (int rank = 0; rank < holders; ++rank)
      placement.shards.push_back({{rank, table.rows, request.ranks}, 0, table.dim, rank});
    placements.push_back(std::move(placement));
  }
  return placements;
}

}  // namespace shardmark
