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

/// What a plan is to one rank.
struct RankFacts {
  RankLoad load;                ///< what it holds
  double memory = 0.0;          ///< bytes, with what buffers take
  double ids_per_sample = 0.0;  ///< expected ids, per sample of the global batch, of rows that it holds
  double sent = 0.0;            ///< bytes that leave it in a step
  double received = 0.0;
  std::array<double, phase_count> seconds{};  ///< that it computes
};

/// What a table is to one rank: seconds or bytes.
struct TableShare {
  std::int64_t table = 0;
  double amount = 0.0;
};

/// The rank that has most of something, and the tables that have most part in it: at most five, descending.
struct BusiestRank {
  int rank = 0;
  double amount = 0.0;  ///< in all
  std::vector<TableShare> tables;
};

/// A sound plan in numbers, all predicted but what ranks hold.
struct PlanFacts {
  StepPrediction step;
  std::vector<RankFacts> ranks;
  std::vector<int> idle;  ///< ranks that hold nothing
  BusiestRank slowest;    ///< by seconds that it computes
  BusiestRank fullest;    ///< by bytes
};

PlanFacts facts_of(const StepContext& step, const MachineModel& machine, const Plan& plan);

/// Ids per sample of the global batch that name rows which each rank holds: of a shard all that name its rows, of
/// copies those of the rank's samples.
std::vector<double> ids_per_sample(const StepContext& step, const Plan& plan);

/// A page of text: what each rank holds, gets and computes with the imbalance (max / mean), the phases, where each
/// table lives, and the tables that decide the slowest and the fullest rank. MB are 10^6 bytes. Of more than most_ranks
/// ranks the least, median and most of all, and the ranks that have most of something; of more than most_tables tables
/// neighbours that are placed alike are one line.
std::string show(const PlanFacts& facts, const Plan& plan, std::span<const Table> tables);
inline constexpr std::size_t most_ranks = 32, most_tables = 32;

/// The same with every rank and table. Bytes and ms.
nlohmann::ordered_json to_json(const PlanFacts& facts, const Plan& plan, std::span<const Table> tables);

/// "0-3,7", the ranks that hold shards of a table; "all" where it is data_parallel.
std::string ranks_of(const TablePlacement& placement);
/// The same of ranks, ascending.
std::string ranges_of(const std::vector<int>& ranks);

}  // namespace shardmark::placement
