// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "results/record.hpp"

namespace shardmark {

/// What people read of one results file, in plain text of many lines:
///   lines with '#'  what ran where, from the environment record and from the fields in which all cases agree
///   a line per case valid ones first, then unchecked, then wrong ones, each by falling samples/s; fields in which the
///                   cases differ are columns
///   # fast / slow   where the environment has a published ratio of two plans, ours beside it
///   FOM samples/s:  the rate of the best valid case, or none
///   RESULT:         the verdict (results/verdict.hpp)
/// Milliseconds and megabytes have about four significant digits; 1 MB = 10^6 bytes.
std::string results_table(const nlohmann::ordered_json& environment, std::span<const CaseRecord> records);

}  // namespace shardmark
