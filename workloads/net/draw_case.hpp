// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "workloads/net/draw_options.hpp"
#include "workloads/net/refusals.hpp"
#include "workloads/step/pipeline/stage_pool.hpp"

namespace shardmark::workloads {

/// So many ranks of which each has the lowest rank of its node; empty: nodes are as they are.
using RankGroup = std::pair<int, std::vector<int>>;

/// What is known of some ranks before a case is drawn for them.
struct GroupFacts {
  std::map<std::string, std::string> unusable = {};  ///< "exchange X" and "dedup node" that they cannot use, and why
  PoolFacts pools = {};
};

/// What cases are drawn for.
struct NetConditions {
  int threads = 1;
  NetFiles files = {};
  nlohmann::ordered_json fixed = nlohmann::ordered_json::object();  ///< options that all cases have, and "plan"
  std::map<RankGroup, GroupFacts> groups = {};
};

/// Case `number`, which the program does not refuse; those that it did refuse on the way are counted in `refusals`.
/// Nothing if it refuses all of `most_draws`, as it does where what is fixed cannot be together.
std::optional<NetCase> draw_case(std::uint64_t number, const NetConditions& conditions, Refusals& refusals);

/// Fixes options, and the planner, so that cases meet these values, each as coverage counts them ("async=rows",
/// "batches=number", "plan=row_wise"). False for values that are drawn beside the options, such as "ranks=2".
bool fix_values(std::uint64_t number, const std::vector<std::string>& values, NetConditions& conditions);

/// Throws InputError where the program would refuse the case. Where a planner is to make its plan, it does.
void resolve(NetCase& one, const NetConditions& conditions);

}  // namespace shardmark::workloads
