// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "results/record.hpp"
#include "workloads/measure/prepare.hpp"

namespace shardmark {

/// What a job has measured, in the end or until now; the same on every rank.
struct Measured {
  std::vector<CaseRecord> records;  ///< of the cases that have been visited
  std::int64_t rounds = 0;          ///< that were finished
  int signal = 0;                   ///< that ended the measurement early; 0: none
};

/// Given what has been measured whenever there is more, on every rank.
using Keep = std::function<void(const Measured&)>;

/// Checks every case against the reference (check.hpp), times them in turns (schedule.hpp), and checks them again on
/// all batches that they were timed with. Only the tables of one plan and storage are in memory at a time. A signal
/// (interruption.hpp) ends the measurement after the visit that goes on. Collective. Throws InputError when
/// options.budget does not hold one round.
Measured measure(const Job& job, BatchSource& batches, const Status& status, const Keep& keep);

}  // namespace shardmark
