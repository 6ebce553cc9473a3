// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/net/coverage.hpp"
#include "workloads/net/draw.hpp"
#include "workloads/net/net_case.hpp"
#include "workloads/step/pipeline/stage_pool.hpp"

namespace shardmark::workloads {

/// Lists the files that options whose value is a file may name, by option.
using NetFiles = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Returns whether the net draws the option: every option that makes a case what it is, but defects that are committed
/// on purpose.
bool is_drawn(const Option& option);

/// Draws a value of the option: one of those it names, or a number that its rule allows, most of them small. `usual`:
/// the value that holds where none is given.
std::string draw_value(Draw& draw, const Option& option, const nlohmann::ordered_json& usual, const NetFiles& files);

/// Draws some of the options of the table that the net draws, those of movement more often than the others.
nlohmann::ordered_json draw_options(Draw& draw, const nlohmann::ordered_json& workload, const NetFiles& files);

/// Names so many ranks, each with the lowest rank of its node; empty: nodes are as they are.
using RankGroup = std::pair<int, std::vector<int>>;

/// Holds what is known of some ranks before a case is drawn for them.
struct GroupFacts {
  std::map<std::string, std::string> unusable = {};  ///< "exchange X" and "dedup node" that they cannot use, and why
  PoolFacts pools = {};
};

/// Holds what cases are drawn for.
struct NetConditions {
  int threads = 1;
  NetFiles files = {};
  nlohmann::ordered_json fixed = nlohmann::ordered_json::object();  ///< options that all cases have, and "plan"
  std::map<RankGroup, GroupFacts> groups = {};
};

/// Draws case `number`, which the program does not refuse; the refused ones that are drawn before it are counted in
/// `refusals`. Returns nothing if the program refuses all of `most_draws`, as it does where what is fixed cannot be
/// together.
std::optional<NetCase> draw_case(std::uint64_t number, const NetConditions& conditions, Refusals& refusals);

/// Fixes options, and the planner, so that cases have these values, each as coverage counts them ("async=rows",
/// "batches=number", "plan=row_wise"). Returns false for values that are drawn beside the options, such as "ranks=2".
bool fix_values(std::uint64_t number, const std::vector<std::string>& values, NetConditions& conditions);

/// Throws InputError where the program would refuse the case. Where a planner is to make its plan, it makes it.
void resolve(NetCase& one, const NetConditions& conditions);

}  // namespace shardmark::workloads
