// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>

#include "comm/placement/formats/plan_file.hpp"
#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"
#include "comm/placement/planner.hpp"
#include "reference/named.hpp"

namespace shardmark::placement {

/// Returns the plan that a user means by `--plan NAME|FILE`: the one that planner NAME makes on request, or the one in
/// FILE. Throws InputError when it is neither (naming the planners), or the file's plan is not sound or not for
/// request.ranks.
inline Plan named_plan(const std::string& name_or_file, std::span<const Table> tables,
                       std::span<const Feature> features, const PlanRequest& request) {
  if (names_planner(name_or_file)) return make_plan(name_or_file, tables, features, request);
  std::error_code unreadable;
  if (!std::filesystem::exists(name_or_file, unreadable)) {
    std::vector<std::string_view> names;
    for (const Planner& planner : planners) names.push_back(planner.name);
    throw InputError(fmt::format("plan '{}' is neither a file nor a planner; {}planners: {}", name_or_file,
                                 suggestion(name_or_file, names), fmt::join(names, ", ")));
  }
  Plan plan = read_plan(name_or_file, tables, features, request.scale);
  if (plan.ranks != request.ranks)
    throw InputError(
        fmt::format("{}: the plan is for {} ranks, the job has {}", name_or_file, plan.ranks, request.ranks));
  return plan;
}

}  // namespace shardmark::placement
