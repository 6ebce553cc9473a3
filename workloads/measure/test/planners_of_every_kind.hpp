// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"

namespace shardmark::workloads {

/// In what a step may treat plans differently: "row_wise modulo", "data_parallel", ... of their tables.
inline std::set<std::string> kinds_of(const placement::Plan& plan) {
  std::set<std::string> kinds;
  for (const placement::TablePlacement& placement : plan.tables) {
    std::string kind(placement::kind_of(placement));
    if (std::ranges::any_of(placement.shards, [](const placement::Shard& shard) { return shard.rows.stride > 1; }))
      kind += " modulo";
    if (placement.hot_rows > 0) kind += " hot";
    kinds.insert(std::move(kind));
  }
  return kinds;
}

/// The planners whose plans of the small case mix kinds of placements as no planner before them: whole steps of the
/// others would check the same again. That all of them make sound plans is tested without steps (comm/placement/test).
inline const std::vector<std::string_view>& planners_of_every_kind(int ranks) {
  static std::map<int, std::vector<std::string_view>> known;
  std::vector<std::string_view>& names = known[ranks];
  if (!names.empty()) return names;
  const RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  std::set<std::set<std::string>> seen;
  for (const placement::Planner& planner : placement::planners)
    if (seen.insert(kinds_of(plan_of(planner.name, options, ranks))).second) names.push_back(planner.name);
  return names;
}

}  // namespace shardmark::workloads
