// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/planner.hpp"

#include <fmt/format.h>

#include "reference/named.hpp"

namespace shardmark {

Plan make_plan(std::string_view name, std::span<const Table> tables, std::span<const Feature> features,
               const PlanRequest& request) {
  const Planner& planner = choice_named(planners, "planner", name);
  if (request.ranks < 1 || request.ranks > largest_job)
    throw InputError(
        fmt::format("planner '{}': a plan is for 1 to {} ranks, not {}", name, largest_job, request.ranks));
  return {.name = std::string(name), .ranks = request.ranks, .tables = planner.place(tables, features, request)};
}

}  // namespace shardmark
