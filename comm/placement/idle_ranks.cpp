// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/idle_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comm/placement/show.hpp"

namespace shardmark::placement {

std::vector<int> idle_ranks(const Plan& plan) {
  std::vector<int> idle;
  if (std::ranges::any_of(plan.tables, has_replicas)) return idle;
  std::vector<bool> holds(static_cast<std::size_t>(plan.ranks));
  for (const TablePlacement& placement : plan.tables)
    for (const Shard& shard : placement.shards) holds[shard.rank] = true;
  for (int rank = 0; rank < plan.ranks; ++rank)
    if (!holds[rank]) idle.push_back(rank);
  return idle;
}

std::string idle_ranks_text(const Plan& plan) {
  const auto idle = idle_ranks(plan);
  if (idle.empty()) return {};
  const bool one = idle.size() == 1;
  return fmt::format("rank{} {} hold{} nothing", one ? "" : "s", ranges_of(idle), one ? "s" : "");
}

}  // namespace shardmark::placement
