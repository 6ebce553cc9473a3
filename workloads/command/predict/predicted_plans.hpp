// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/placement/cost/step_cost.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {

/// What predictions are made for.
struct PredictedCases {
  RunOptions options;
  Case config;
  placement::MachineModel machine;
  std::vector<std::string> plans;     ///< planners or plan files
  std::vector<int> ranks;             ///< ascending
  std::optional<int> ranks_per_node;  ///< absent: the machine's
  bool dense = false;                 ///< with the workload's dense half
};

/// What a phase is bound by.
struct Bound {
  Phase phase = Phase::lookup;
  std::string by;  ///< "rank 3", "all ranks", "exchange inside", "exchange between nodes", "all-reduce"

  std::string text() const;
  bool operator==(const Bound&) const = default;
};

struct PredictedPlan {
  std::string plan;
  int ranks = 1, nodes = 1;
  std::string problem = {};  ///< why there is no such plan; empty: there is
  placement::StepPrediction step = {};
  Bound bound = {};
  int idle_ranks = 0;  ///< that hold nothing
  int fullest_rank = 0;
  double memory = 0.0;      ///< bytes of the fullest rank
  double missing = 0.0;     ///< bytes that it lacks; 0: it fits, or nobody knows
  std::string relief = {};  ///< what would help it then (memory_fit.hpp)

  bool predicted() const { return problem.empty(); }
};

/// By ranks, then plans. Throws InputError where no plan can be made for any ranks, and where the machine does not
/// know what they need.
std::vector<PredictedPlan> predict_plans(const PredictedCases& cases);

}  // namespace shardmark::workloads
