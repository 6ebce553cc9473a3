// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "comm/placement/cost/step_cost.hpp"
#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// Holds what a plan is to one rank.
struct RankFacts {
  RankLoad load;                ///< what it holds
  double memory = 0.0;          ///< bytes, with what buffers take
  double ids_per_sample = 0.0;  ///< expected ids, per sample of the global batch, of rows that it holds
  double sent = 0.0;            ///< bytes that leave it in a step
  double received = 0.0;
  std::array<double, phase_count> seconds{};  ///< that it computes
};

/// Holds what a table costs one rank, in seconds or bytes.
struct TableShare {
  std::int64_t table = 0;
  double amount = 0.0;
};

/// Holds the rank that has most of something, and the tables that contribute most to it: at most five, descending.
struct BusiestRank {
  int rank = 0;
  double amount = 0.0;  ///< in all
  std::vector<TableShare> tables;
};

/// Describes a sound plan in numbers; all of them are predicted but what ranks hold.
struct PlanFacts {
  StepPrediction step;
  std::vector<RankFacts> ranks;
  std::vector<int> idle;  ///< ranks that hold nothing
  BusiestRank slowest;    ///< by seconds that it computes
  BusiestRank fullest;    ///< by bytes
};

PlanFacts facts_of(const StepContext& step, const MachineModel& machine, const Plan& plan);

/// Returns, by rank, the ids per sample of the global batch that name rows which the rank holds: for a shard all ids
/// that name its rows, for copies those of the rank's own samples.
std::vector<double> ids_per_sample(const StepContext& step, const Plan& plan);

/// Returns a page of text: what each rank holds, gets and computes with the imbalance (max / mean), the phases, where
/// each table lives, and the tables that decide the slowest and the fullest rank. MB are 10^6 bytes. Where there are
/// more than most_ranks ranks, it prints the least, median and most of all, and the ranks that have most of something;
/// where there are more than most_tables tables, neighbours that are placed alike share one line.
std::string show(const PlanFacts& facts, const Plan& plan, std::span<const Table> tables);
inline constexpr std::size_t most_ranks = 32, most_tables = 32;

/// Returns the same facts with every rank and table, in bytes and ms.
nlohmann::ordered_json to_json(const PlanFacts& facts, const Plan& plan, std::span<const Table> tables);

/// Returns the ranks that hold shards of a table, such as "0-3,7"; "all" where it is data_parallel.
std::string ranks_of(const TablePlacement& placement);
/// Returns ascending ranks in the same notation.
std::string ranges_of(const std::vector<int>& ranks);

}  // namespace shardmark::placement
