// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>

#include "workloads/measure/calibrate/calibration_cases.hpp"
#include "workloads/measure/timed_batches.hpp"

namespace shardmark::workloads {

/// What the steps of one case took: the median, in seconds, of each phase's part of the critical path. That of phase p
/// ends when the last rank leaves p; the parts of a step add up to its time.
struct CaseTimes {
  std::array<double, results::phase_names.size()> phases{};
  double step = 0.0;
  std::int64_t steps = 0;  ///< that were timed
};

/// How long calibration may time each case in each pass, and how often it comes back to all.
struct CasePasses {
  double seconds = 0.06;
  int passes = 4;
  double all_seconds = 40.0;  ///< for which no further pass is begun that would not end in time
};

/// Runs the training step of every case, in passes over all of them in a random order, so that what disturbs the
/// machine for a while does not meet one case alone. All their tables are in memory together. Collective; the same on
/// every rank.
std::vector<CaseTimes> case_times(const comm::Communicator& comm, std::span<const CalibrationCase> cases,
                                  const CasePasses& passes, const Status& status);

/// Bytes that a case takes on the rank that needs most, about: tables, state, dense gradients, and what its batches and
/// buffers take at most.
double case_bytes(const CalibrationCase& of);

}  // namespace shardmark::workloads
