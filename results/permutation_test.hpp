// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace shardmark::results {

/// These are the fewest launches of each side for which the smallest p-value is at most 5 %: 2^(1-n) in pairs, else 2 /
/// C(2n, n).
inline constexpr std::int64_t fewest_pairs = 6;
inline constexpr std::int64_t fewest_unpaired = 4;

/// Returns p-values of "case c differs between OLD and NEW", two-sided and adjusted for the number of cases: the chance
/// that at least one p-value is at most alpha when nothing differs is at most alpha, however the cases depend on one
/// another. differences: [cases][pairs] of log times, NEW - OLD. Exchanging OLD and NEW of whole pairs of launches, in
/// all ways or in 20,000 drawn ones, gives the distribution of the largest statistic over the cases; that distribution
/// is exact when the order within each pair was drawn. The statistic is |sum s| / sqrt(sum s^2) of the differences s,
/// each cut at their median size so that a disturbed launch counts no more than another. Westfall and Young,
/// Resampling-Based Multiple Testing, 1993, section 2.6 (single-step maxT).
std::vector<double> paired_p_values(const std::vector<std::vector<double>>& differences);

/// Returns such p-values without pairs, by dealing the launches anew to OLD and NEW. values: [cases][old + new
/// launches], OLD first. The statistic is the U of Mann and Whitney, from ranks, ties sharing their mean: for a single
/// case this is the exact U test.
std::vector<double> unpaired_p_values(const std::vector<std::vector<double>>& values, std::int64_t old_launches);

}  // namespace shardmark::results
