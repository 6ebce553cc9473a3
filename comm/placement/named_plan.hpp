// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark::placement {

/// Returns the plan that a user means by `--plan NAME|FILE`: the one that planner NAME makes on request, or the one in
/// FILE. Throws InputError when it is neither (naming the planners), or the file's plan is not sound or not for
/// request.ranks.
Plan named_plan(const std::string& name_or_file, std::span<const Table> tables, std::span<const Feature> features,
                const PlanRequest& request);

}  // namespace shardmark::placement
