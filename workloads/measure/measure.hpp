// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "results/record.hpp"
#include "workloads/batches/batch_source.hpp"
#include "workloads/measure/job.hpp"
#include "workloads/measure/status.hpp"

namespace shardmark::workloads {

/// Holds what a job has measured, in the end or until now; the same on every rank.
struct Measured {
  std::vector<results::CaseRecord> records;  ///< of the cases that have been visited
  std::int64_t rounds = 0;                   ///< that were finished
  int signal = 0;                            ///< that ended the measurement early; 0: none
  std::vector<std::string> left_out = {};    ///< names of cases for which the budget had no time
};

/// Receives what has been measured whenever there is more, on every rank.
using Keep = std::function<void(const Measured&)>;

/// Checks every case against the reference (check.hpp), times them in turns (schedule.hpp), and checks them again on
/// the batches that they were timed with, as far as these checks last no longer than the rounds, or a third of
/// options.budget. Of several cases one is measured twice, as two (results/twin.hpp): the one that is predicted to be
/// the fastest, or the first; where it is stopped, the best from then on. Only the tables of one plan and storage are
/// in memory at a time. With a budget that does not suffice for all cases, the most promising are measured: by their
/// predictions, then by their first visit. A signal (interruption.hpp) ends the measurement after the visit in
/// progress. Collective.
Measured measure(const Job& job, BatchSource& batches, const Status& status, const Keep& keep);

}  // namespace shardmark::workloads
