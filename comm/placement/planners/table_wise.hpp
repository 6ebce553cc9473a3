// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark::placement {

/// Places table t on rank t mod ranks (strategy "basic" of NVIDIA distributed-embeddings).
inline std::vector<TablePlacement> place_table_wise(std::span<const Table> tables, std::span<const Feature>,
                                                    const PlanRequest& request) {
  std::vector<TablePlacement> placements;
  for (const Table& table : tables) {
    const int rank = static_cast<int>(std::ssize(placements) % request.ranks);
    placements.push_back({.data_parallel = false, .shards = {whole(table, rank)}});
  }
  return placements;
}

}  // namespace shardmark::placement
