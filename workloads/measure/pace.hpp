// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/placement/cost/step_cost.hpp"
#include "workloads/measure/calibrate/case_times.hpp"

namespace shardmark {

/// Times of the same work now and when the machine was calibrated.
struct PaceTimes {
  std::array<double, step_phases> then{}, now{};
};

/// By phase: the median over the steps of now / then, of those of which the phase takes a twentieth or more; 1 where
/// there are none.
std::array<double, step_phases> pace_of(std::span<const PaceTimes> steps);

/// A prediction for a machine that takes so many times as long, by phase.
StepPrediction at_pace(const StepPrediction& predicted, const std::array<double, step_phases>& pace);

/// How long the machine takes beside what it took when it was calibrated: a machine that is shared, or that changes its
/// clock, is not the same an hour later. Takes some of the steps of the calibration again, between those that are
/// measured. All calls are collective.
class Pace {
 public:
  /// Prepares the control steps of a machine that was calibrated on these ranks, unless they would need more than a
  /// fifth of the memory. What is passed must outlive the object.
  Pace(const Communicator& comm, const MachineModel* machine);
  ~Pace();

  /// Takes each of them for so long.
  void visit(double seconds);

  /// During the first visits; absent where there are no control steps.
  std::optional<std::array<double, step_phases>> during(std::size_t visits) const;

 private:
  const Communicator& comm_;
  const MachineModel* machine_;
  std::vector<CalibrationCase> cases_;
  std::vector<std::unique_ptr<RunningCase>> running_;
};

}  // namespace shardmark
