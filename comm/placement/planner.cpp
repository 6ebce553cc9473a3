// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/planner.hpp"

#include "reference/named.hpp"

namespace shardmark {

Plan make_plan(std::string_view name, std::span<const Table> tables, std::span<const Feature> features,
               const PlanRequest& request) {
  const Planner& planner = choice_named(planners, "planner", name);
  if (request.ranks < 1)
    throw InputError("planner '" + std::string(name) + "': a plan needs at least 1 rank, not " +
                     std::to_string(request.ranks));
  return {.name = std::string(name), .ranks = request.ranks, .tables = planner.place(tables, features, request)};
}

}  // namespace shardmark
