// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/traffic/moved_plan.hpp"

#include <map>

namespace shardmark::placement {

Packing MovedPlan::packing(Dedup dedup) const {
  const std::int64_t id_bytes = bytes_of(id_type(movement.wire_ids, plan, tables));
  return {.wire = movement.wire,
          .row_id_bytes = id_bytes,
          .id_bytes = id_bytes + (weighted ? 4 : 0),
          .dedup = dedup,
          .nodes = nodes};
}

std::vector<ColumnShards> column_shards(const MovedPlan& moved) {
  std::map<TableColumns, std::vector<std::int64_t>> found;
  for (std::int64_t t = 0; t < std::ssize(moved.tables); ++t) {
    const auto& shards = moved.plan.tables[t].shards;
    if (std::ranges::find(moved.features, t, &Feature::table) == moved.features.end()) continue;
    for (std::int64_t s = 0; s < std::ssize(shards); ++s)
      found[{t, shards[s].column_begin, shards[s].column_end}].push_back(s);
  }
  std::vector<ColumnShards> result;
  for (auto& [columns, shards] : found) result.push_back({columns, std::move(shards)});
  return result;
}

HomeLookups lookups_in(const MovedPlan& moved, const ColumnShards& shards, int home, const PlanCounts& counts) {
  const auto& [table, begin, end] = shards.columns;
  HomeLookups lookups{.home = home, .ranks = moved.plan.ranks, .columns = end - begin, .holders = {}};
  for (const std::int64_t s : shards.shards)
    lookups.holders.push_back({moved.plan.tables[table].shards[s].rank, counts[table][s]});
  return lookups;
}

}  // namespace shardmark::placement
