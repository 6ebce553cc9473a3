// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/cost/step_cost.hpp"
#include "results/record.hpp"
#include "workloads/measure/dense/training_window.hpp"
#include "workloads/measure/timing.hpp"

namespace shardmark {

/// What the checks of a case found: values that differ from the reference, and what the wire did to the vectors.
struct Checked {
  std::int64_t steps = 0, steps_after = 0;  ///< compared before and after it was timed
  std::int64_t wrong = 0;
  std::optional<WireError> wire_error;
};

/// A case as far as it has been measured.
struct CaseState {
  std::optional<StepPrediction> predicted;  ///< before anything ran
  Timings timings;
  Checked checked;
  double check_seconds = 0.0;
  std::optional<TrainingWindow::Quality> training;  ///< of the steps that it was trained for
  std::int64_t trained_steps = 0;
  std::string stopped;  ///< after which round it was certainly slower than the best; empty: it was not

  StepTime step_time() const { return shardmark::step_time(timings.step_ms, timings.visits); }
};

/// The record of case `number`, which has been visited.
CaseRecord case_record(const Job& job, std::size_t number, const CaseState& state, const Prepared& prepared);

}  // namespace shardmark
