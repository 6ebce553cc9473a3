// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "results/comparison_table.hpp"

namespace shardmark::results {

/// Holds what is printed of a comparison.
struct ComparisonReport {
  std::span<const CaseComparison> cases;
  std::string heading;                    ///< what was compared, a line
  std::optional<double> fail_above = {};  ///< of the options
  bool strict = false;                    ///< cases that are unclear or missing fail too
};

/// Returns whether the gate is red for a case.
inline bool fails_gate(const CaseComparison& each, bool strict) {
  return each.fails || each.change == Change::worse ||
         (strict && (each.change == Change::unclear || each.change == Change::missing));
}

std::string comparison_as_text(const ComparisonReport& report);
/// Returns workflow commands of GitHub: an error for each case that fails, a warning for each other one that is unclear
/// or missing, and a notice with the counts.
std::string comparison_as_github(const ComparisonReport& report);
/// Returns a test suite in JUnit's XML: a test for each case, skipped where it is unclear or missing and not strict.
std::string comparison_as_junit(const ComparisonReport& report);
/// Returns Bencher Metric Format: of each case the latency of NEW in ns, and the ratio with its interval.
std::string comparison_as_bmf(const ComparisonReport& report);
std::string comparison_as_json(const ComparisonReport& report);

struct ComparisonFormat {
  std::string_view name, description;
  std::string (*print)(const ComparisonReport& report);
};
inline constexpr std::array comparison_formats{
    ComparisonFormat{"text", "a summary, a Markdown table and the result, for reading", comparison_as_text},
    ComparisonFormat{"github", "annotations of a GitHub workflow", comparison_as_github},
    ComparisonFormat{"junit", "a test for each case, in XML, for GitLab, Jenkins and others", comparison_as_junit},
    ComparisonFormat{"bmf", "Bencher Metric Format, for bencher.dev", comparison_as_bmf},
    ComparisonFormat{"json", "one document, for other programs", comparison_as_json},
};

}  // namespace shardmark::results
