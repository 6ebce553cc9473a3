// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark {

/// Rank k holds the next rows / ranks + (k < rows mod ranks) rows of every table (TorchRec and NVIDIA
/// distributed-embeddings split so). Unshuffled power-law ids put the popular rows on rank 0.
inline std::vector<TablePlacement> place_row_wise_block(std::span<const Table> tables, std::span<const Feature>,
                                                        const PlanRequest& request) {
  std::vector<TablePlacement> placements;
  for (const Table& table : tables) {
    const std::int64_t holders = std::min<std::int64_t>(request.ranks, table.rows);
    TablePlacement placement;
    std::int64_t begin = 0;
    for (int rank = 0; rank < holders; ++rank) {
      const std::int64_t end = begin + table.rows / request.ranks + (rank < table.rows % request.ranks ? 1 : 0);
      placement.shards.push_back({{begin, end, 1}, 0, table.dim, rank});
      begin = end;
    }
    placements.push_back(std::move(placement));
  }
  return placements;
}

}  // namespace shardmark
