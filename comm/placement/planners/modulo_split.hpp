// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark::placement {

/// Places row r of the table on holders[r mod n], where n is the number of holders, or of rows where they are fewer
/// (HugeCTR numbers the shards of a table by the order of their ranks).
inline TablePlacement split_modulo(const Table& table, std::span<const int> holders) {
  const auto shards = std::min<std::int64_t>(std::ssize(holders), table.rows);
  TablePlacement placement;
  for (std::int64_t k = 0; k < shards; ++k)
    placement.shards.push_back({{k, table.rows, shards}, 0, table.dim, holders[k]});
  return placement;
}

/// Returns the ranks of each node: node_size() neighbours by number, on the last node the rest.
inline std::vector<std::vector<int>> ranks_by_node(const PlanRequest& request) {
  std::vector<std::vector<int>> nodes;
  for (int rank = 0; rank < request.ranks; ++rank) {
    if (rank % request.node_size() == 0) nodes.emplace_back();
    nodes.back().push_back(rank);
  }
  return nodes;
}

}  // namespace shardmark::placement
