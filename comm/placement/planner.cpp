// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/planner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/named.hpp"

namespace shardmark::placement {
namespace {

std::string_view rule_of(std::string_view name) { return name.substr(0, name.find(':')); }

}  // namespace

bool names_planner(std::string_view name) {
  return std::ranges::find(planners, rule_of(name), &Planner::name) != planners.end();
}

Plan make_plan(std::string_view name, std::span<const Table> tables, std::span<const Feature> features,
               PlanRequest request) {
  const std::string_view rule = rule_of(name);
  const Planner& planner = choice_named(planners, "planner", rule);
  request.settings = {rule, name.substr(std::min(name.size(), rule.size() + 1)), planner.settings};
  if (request.ranks < 1 || request.ranks > largest_job)
    throw InputError(
        fmt::format("planner '{}': a plan is for 1 to {} ranks, not {}", rule, largest_job, request.ranks));
  return {.name = std::string(name), .ranks = request.ranks, .tables = planner.place(tables, features, request)};
}

}  // namespace shardmark::placement
