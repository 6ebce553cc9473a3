// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/cost/step_cost.hpp"
#include "comm/placement/plan.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {

/// What stays the same on other numbers of ranks.
enum class Scaling {
  weak,    ///< the samples of a rank
  strong,  ///< the samples of all ranks
};

struct ScalingChoice {
  std::string_view name;
  std::string_view description;
  std::vector<Scaling> scalings;
};
/// The values of --scaling.
inline const std::array scaling_choices{
    ScalingChoice{"weak", "the batch of a rank stays, that of all grows with the ranks", {Scaling::weak}},
    ScalingChoice{"strong", "the batch of all ranks stays, that of a rank shrinks", {Scaling::strong}},
    ScalingChoice{"both", "one after the other", {Scaling::weak, Scaling::strong}},
};

/// What predictions are made for.
struct PredictedCases {
  RunOptions options;
  Case config;
  placement::MachineModel machine;
  std::vector<std::string> plans;  ///< planners or plan files
  std::vector<int> ranks;          ///< ascending; the workload's batch is that of the fewest
  std::vector<Scaling> scalings = scaling_choices.front().scalings;

  /// The samples of a step of so many of `ranks`. Throws InputError where 64 bits do not count them.
  std::int64_t batch(Scaling scaling, int on) const;
};

/// Returns the options that a case has where this software runs it, unless it says otherwise.
std::vector<GivenOption> options_of(const placement::Software& software);

/// Returns the machine without these terms and parts of the model (without_term.hpp).
placement::MachineModel without_all(placement::MachineModel machine, std::span<const std::string> names);

/// Returns what the given options make of the workload of `options`: one case, without plans, ranks and machine. Throws
/// InputError as set_options() does.
PredictedCases cases_with(RunOptions options, const std::vector<GivenOption>& given);

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
  Scaling scaling = Scaling::weak;
  std::int64_t batch = 0;  ///< samples of a step, of all ranks
  placement::Plan placed = {};
  std::string problem = {};  ///< why there is no such plan; empty: there is
  bool of_ranks = false;     ///< the problem is that the machine says nothing of so many ranks
  placement::StepPrediction step = {};
  Bound bound = {};
  int idle_ranks = 0;  ///< that hold nothing
  int fullest_rank = 0;
  double memory = 0.0;      ///< bytes of the fullest rank
  double missing = 0.0;     ///< bytes that it lacks; 0: it fits, or nobody knows
  std::string relief = {};  ///< what would help it then (memory_fit.hpp)

  bool predicted() const { return problem.empty(); }
  double samples_per_second() const { return static_cast<double>(batch) / step.seconds; }
};

/// By scaling, ranks, then plans. On ranks that the machine says nothing of no plan is made. Throws InputError where
/// none can be predicted.
std::vector<PredictedPlan> predict_plans(const PredictedCases& cases);

}  // namespace shardmark::workloads
