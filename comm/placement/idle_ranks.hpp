// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/show.hpp"

namespace shardmark::placement {

/// Returns the ranks that hold nothing of any table, ascending. They are legal: they look up samples like the others.
inline std::vector<int> idle_ranks(const Plan& plan) {
  std::vector<int> idle;
  if (std::ranges::any_of(plan.tables, has_replicas)) return idle;
  std::vector<bool> holds(static_cast<std::size_t>(plan.ranks));
  for (const TablePlacement& placement : plan.tables)
    for (const Shard& shard : placement.shards) holds[shard.rank] = true;
  for (int rank = 0; rank < plan.ranks; ++rank)
    if (!holds[rank]) idle.push_back(rank);
  return idle;
}

/// Returns a text such as "ranks 5-7 hold nothing"; empty where all hold something.
inline std::string idle_ranks_text(const Plan& plan) {
  const auto idle = idle_ranks(plan);
  if (idle.empty()) return {};
  const bool one = idle.size() == 1;
  return fmt::format("rank{} {} hold{} nothing", one ? "" : "s", ranges_of(idle), one ? "s" : "");
}

}  // namespace shardmark::placement
