// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/measure/job.hpp"
#include "workloads/measure/near_cores.hpp"
#include "workloads/measure/status.hpp"

namespace shardmark::workloads {

/// Is a small workload whose tables are all alike, with a plan that gives every rank the same to do.
struct CalibrationCase {
  std::string name;
  RunOptions options;
  std::vector<PlannedTables> plans;      ///< one
  std::vector<PlannedCase> cases;        ///< one
  std::optional<std::size_t> like = {};  ///< where its tables are not dense: the number of the same case with such

  const placement::Plan& plan() const { return plans.front().plan; }
  const Case& config() const { return cases.front().config; }
  Job job(const comm::Communicator& comm) const { return {comm, options, plans, cases}; }
};

/// Returns the cases of a calibration: some 70 steps that differ in what the time of a step depends on: dim 4 to 256,
/// hotness 1 to 30, repeated ids, tables within the caches and far beyond, optimizers, few and many tables, placements,
/// transfers, storages, wire types. Per rank the largest table has at most `largest_table` bytes; the global batch is
/// one of `samples` times the least of all cases, so that small numbers make short tests.
std::vector<CalibrationCase> calibration_cases(int ranks, double largest_table = 0x1p30, double samples = 1.0);

/// Holds the times of the steps of one case: the median, in seconds, of each phase's part of the critical path. That of
/// phase p ends when the last rank leaves p; the parts of a step add up to its time.
struct CaseTimes {
  std::array<double, phase_count> phases{};
  double step = 0.0;
  std::int64_t steps = 0;  ///< that were timed
};

/// Bounds how long calibration times each case in each pass, and how many passes it makes over all of them.
struct CasePasses {
  double seconds = 0.06;
  int passes = 8;
  double all_seconds = 120.0;  ///< of visits: no further pass is begun that would take longer
};

/// Runs the training step of every case, in passes over as many of them as `bytes` of a rank hold, in a random order,
/// so that what disturbs the machine for a while does not affect one case alone. near: waits before each visit.
/// Collective; the same on every rank.
std::vector<CaseTimes> case_times(const comm::Communicator& comm, std::span<const CalibrationCase> cases,
                                  const CasePasses& passes, double bytes, const Status& status, NearCores& near);

/// Returns about how many bytes a case takes on the rank that needs most: tables, state, dense gradients, and what its
/// batches and buffers take at most.
double case_bytes(const CalibrationCase& of);

}  // namespace shardmark::workloads
