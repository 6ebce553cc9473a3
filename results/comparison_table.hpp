// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "results/comparison.hpp"

namespace shardmark::results {

/// Returns "worse".
std::string_view name_of(Change change);

/// Returns how many cases changed in each way, better to missing, in the order of Change.
std::array<std::int64_t, 5> count_changes(std::span<const CaseComparison> cases);

/// Returns a text such as "2 worse, 0 better, 1 same, 0 unclear, 0 missing, of 3 cases".
std::string counts_text(std::span<const CaseComparison> cases);

/// Returns a summary, a Markdown table with a row per case, worse ones first, and the last line "RESULT: ...": WORSE
/// when a case is worse, else UNCLEAR when one is unclear or missing, else NOT WORSE; each with the counts. `heading`
/// goes before the table. Where cases fail by options.fail_above they are named in the summary, and RESULT says FAILED.
std::string comparison_table(std::span<const CaseComparison> cases, const std::string& heading,
                             std::optional<double> fail_above = {});

/// Returns a text such as "this baseline can show changes above 4.1 % only: ..." for its median case, with the noisiest
/// one.
std::string floors_text(std::span<const BaselineFloor> floors, std::int64_t launches);

}  // namespace shardmark::results
