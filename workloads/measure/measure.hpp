// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "results/record.hpp"
#include "workloads/measure/prepare.hpp"

namespace shardmark {

/// Checks every case against the reference (check.hpp), then times them in turns (schedule.hpp). Only one plan's tables
/// are in memory at a time. Collective; returns the records, the same on every rank.
std::vector<CaseRecord> measure(const Job& job, BatchSource& batches, const Status& status);

}  // namespace shardmark
