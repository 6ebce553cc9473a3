// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "workloads/measure/prepare.hpp"

namespace shardmark::workloads {

/// A small workload whose tables are all alike, with a plan that gives every rank the same to do.
struct CalibrationCase {
  std::string name;
  RunOptions options;
  std::vector<PlannedTables> plans;  ///< one
  std::vector<PlannedCase> cases;    ///< one

  const placement::Plan& plan() const { return plans.front().plan; }
  const Case& how() const { return cases.front().how; }
  Job job(const comm::Communicator& comm) const { return {comm, options, plans, cases}; }
};

/// What calibration runs: some 60 steps that differ in what the time of a step depends on: dim 4 to 256, hotness 1 to
/// 30, repeated ids, tables within the caches and far beyond, optimizers, few and many tables, placements, transfers,
/// wire types. Per rank the largest table has at most `largest_table` bytes; the global batch is one of `samples` times
/// the least of all cases, so that small numbers make short tests.
std::vector<CalibrationCase> calibration_cases(int ranks, double largest_table = 0x1p30, double samples = 1.0);

}  // namespace shardmark::workloads
