// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/net/draw_options.hpp"
#include "workloads/net/refusals.hpp"
#include "workloads/step/pipeline/stage_pool.hpp"

namespace shardmark {

/// So many ranks of which each has the lowest rank of its node; empty: nodes are as they are.
using RankGroup = std::pair<int, std::vector<int>>;

/// What is known of some ranks before a case is drawn for them.
struct GroupFacts {
  std::map<std::string, std::string> unusable = {};  ///< exchanges that they cannot use, and why
  PoolFacts pools = {};
};

/// What cases are drawn for.
struct NetConditions {
  int threads = 1;
  NetFiles files = {};
  nlohmann::ordered_json fixed = nlohmann::ordered_json::object();  ///< options that all cases have
  std::map<RankGroup, GroupFacts> groups = {};
};

/// Case `number`, which the program does not refuse; those that it did refuse on the way are counted in `refusals`.
NetCase draw_case(std::uint64_t number, const NetConditions& conditions, Refusals& refusals);

/// Throws InputError where the program would refuse the case. Where a planner is to make its plan, it does.
void resolve(NetCase& one, const NetConditions& conditions);

}  // namespace shardmark
