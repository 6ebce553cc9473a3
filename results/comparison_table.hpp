// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "results/comparison.hpp"

namespace shardmark {

/// How many cases became what, better to missing, in the order of Change.
std::array<std::int64_t, 5> count_changes(std::span<const CaseComparison> cases);

/// A Markdown table with a row per case, worse ones first, and the last line "RESULT: ...": WORSE when a case is worse,
/// else UNCLEAR when one is unclear or missing, else NOT WORSE; each with the counts. `heading` goes before the table.
std::string comparison_table(std::span<const CaseComparison> cases, const std::string& heading);

}  // namespace shardmark
