// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "results/record.hpp"
#include "workloads/measure/timing.hpp"

namespace shardmark {

/// What the check of a case found: values that differ from the reference, and what the wire did to the vectors.
struct Verdict {
  std::int64_t wrong = 0;
  std::optional<WireError> wire_error;
};

/// The record of case `number`.
CaseRecord case_record(const Job& job, std::size_t number, const Timings& timings, const Verdict& verdict);

}  // namespace shardmark
