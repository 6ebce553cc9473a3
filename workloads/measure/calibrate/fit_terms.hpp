// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/placement/cost/step_cost.hpp"
#include "workloads/measure/calibrate/calibration_cases.hpp"

namespace shardmark::workloads {

/// Holds what fitted seconds predict for the cases that they were fitted to.
struct TermFit {
  std::array<bool, placement::terms.size()>
      measured{};  ///< terms that some case has; others are as those that they are like, or of described_cluster()
  double exchange_share = 1.0;                         ///< by which the times of exchanges in `machine` were multiplied
  std::vector<placement::StepPrediction> predictions;  ///< by case
};

/// Sets the seconds of the terms, the weights of the optimizers, cache_per_rank and flops of `machine`, whose messages
/// are known, by the times of cases: for each phase it takes the non-negative least squares of
///   measured - predicted exchange = sum over its terms of count x seconds
/// over the cases, counts being those of the slowest rank, and each case divided so, by what was predicted of it the
/// turn before, that in the end the squares of log(predicted / measured) are least: short steps count as much as long
/// ones, and half of a time as much as twice as much, where errors divided by the time would make all predictions too
/// low. Terms that only cases of other storages than dense have are then fitted to the differences from the cases that
/// they are like, by errors divided by the time, so that what the other terms do not explain is not put down to them.
/// It tries some fractions and multiples of cache_per_rank, and then of the times of exchanges, which within a step may
/// take less than by themselves (links that have rested, ranks that go on while others still receive); what they take
/// more is that of terms.
TermFit fit_terms(std::span<const CalibrationCase> cases, std::span<const CaseTimes> times, int ranks_per_node,
                  placement::MachineModel& machine);

/// Measures how far predictions are from measurements: |predicted - measured| / measured.
struct FitErrors {
  double mean = 0.0, largest = 0.0;
  std::size_t worst = 0;  ///< number of the case with the largest
};

/// Return the errors of the steps, and of one phase, over the cases where it takes at least a twentieth of the step.
FitErrors step_errors(std::span<const CaseTimes> times, const TermFit& fit);
FitErrors phase_errors(std::span<const CaseTimes> times, const TermFit& fit, std::size_t phase);

}  // namespace shardmark::workloads
