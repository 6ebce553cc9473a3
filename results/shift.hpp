// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shardmark::results {

/// Says how far NEW lies above OLD, in the unit of the values (of logarithms of times: the logarithm of the ratio).
struct Shift {
  double estimate = 0.0;
  double low = 0.0, high = 0.0;  ///< 95 % confidence interval; the whole range when there are too few values for it
};

/// Estimates the shift of pairs by Hodges and Lehmann: the median of the means of all pairs (i <= j) of differences,
/// with the interval that Wilcoxon's signed ranks give, which misses the shift with probability `error` at most: 5 %
/// from 6 differences on, 2^(1-n) from n. The differences are symmetric around the shift; up to 29 % may be outliers.
/// Throws std::invalid_argument when there are none. See Hollander, Wolfe and Chicken, Nonparametric Statistical
/// Methods, 3rd edition, 2014, sections 3.2 and 3.3.
Shift paired_shift(std::span<const double> differences, double error = 0.05);

/// Estimates the shift of two independent samples: the median of all differences new - old, with the interval that the
/// U of Mann and Whitney gives, 95 % from 4 values each on. See sections 4.2 and 4.3 there.
Shift unpaired_shift(std::span<const double> old_values, std::span<const double> new_values);

/// Returns P(W = w) for w in 0 ... n (n + 1) / 2 under no shift: W sums the ranks of the positive ones of n
/// differences.
std::vector<double> signed_rank_distribution(std::int64_t n);

/// Returns P(U = u) for u in 0 ... m n under no shift: U counts the pairs of m and n values in which the first is the
/// larger.
std::vector<double> rank_sum_distribution(std::int64_t m, std::int64_t n);

}  // namespace shardmark::results
