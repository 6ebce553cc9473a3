// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/cost/step_cost.hpp"
#include "results/disturbance.hpp"
#include "results/record.hpp"
#include "workloads/measure/timing.hpp"
#include "workloads/measure/training.hpp"
#include "workloads/measure/wrong_values.hpp"

namespace shardmark::workloads {

/// Holds what the checks of a case found: values that differ from the reference, and what the wire did to the vectors.
struct Checked {
  std::int64_t steps = 0, steps_after = 0;  ///< compared before and after it was timed
  WrongValues wrong;
  std::optional<results::WireError> wire_error;
  std::map<std::string, std::int64_t> unjudged = {};  ///< Expectation::unjudged() of the latest check
};

/// Ends CaseState::stopped of a case for which the budget had no more time.
inline constexpr std::string_view stopped_by_budget = ": the budget";

/// Is a case as far as it has been measured.
struct CaseState {
  std::string plan_digest;                             ///< plan_json.hpp
  std::optional<placement::StepPrediction> predicted;  ///< before anything ran
  Timings timings;
  Checked checked;
  std::vector<results::VisitConditions> conditions;  ///< of each visit
  double check_seconds = 0.0, visit_seconds = 0.0;   ///< of the latest check and visit
  std::optional<Training> training;                  ///< apart from the steps that were timed
  std::optional<results::CaseRecord> earlier = {};   ///< of the job that this one resumes; the first timings are its
  std::string stopped;         ///< after which round it was certainly slower than the best; empty: it was not
  bool left_out = false;       ///< it is not measured, as the budget has no time for it
  bool out_of_budget = false;  ///< it was stopped for that reason, after its first visits

  results::StepTime step_time() const { return shardmark::results::step_time(timings.step_ms, timings.visits); }
  /// Returns the steps that this job timed.
  std::span<const double> own_step_ms() const {
    return std::span(timings.step_ms).subspan(earlier ? earlier->step_ms.samples.size() : 0);
  }
  /// Returns how long a visit takes at least, with two timed steps.
  double least_visit_seconds() const;
};

/// Orders these cases by the time of a step, the least first: as measured, else as predicted, and behind them those of
/// which neither is known.
std::vector<std::size_t> by_promise(const std::vector<CaseState>& states, std::vector<std::size_t> cases);

/// Returns the record of case `number`, which has been visited.
results::CaseRecord case_record(const Job& job, std::size_t number, const CaseState& state, const Prepared& prepared);

}  // namespace shardmark::workloads
