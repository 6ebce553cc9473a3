// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/placement/plan.hpp"
#include "results/record.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/measure/check.hpp"

namespace shardmark {

/// One row of the table: a plan (number in the list of plans) and how its data move.
struct PlannedCase {
  std::size_t plan = 0;
  Case how;
};

/// Told what goes on, for people who wait.
using Status = std::function<void(const std::string&)>;

/// Checks every case against the reference, then times them. Cases are interleaved: in every round all plans in a
/// random order, and on each plan's tables all its cases in a random order, so that a drift of the machine meets all
/// alike. Only one plan's tables are in memory at a time. Ends, agreed by all ranks, when the medians of all cases are
/// known to 2.5 % or the budget is spent; with options.steps after so many steps. The orders are keyed by the seed.
/// Collective; returns the records, the same on every rank.
std::vector<CaseRecord> measure(const Communicator& comm, const RunOptions& options, const std::vector<Plan>& plans,
                                const std::vector<PlannedCase>& cases, BatchSource& batches, const Status& status);

}  // namespace shardmark
