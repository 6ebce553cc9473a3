// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shardmark::results {

/// This is the smallest number of samples whose extremes enclose the median with 95 % confidence: 1 - 2^(1-n) >= 0.95.
inline constexpr std::int64_t samples_for_interval = 6;

/// Holds order statistics of n samples, in the samples' own unit. x(k) is the k-th smallest, counted from 1.
struct Summary {
  std::int64_t n = 0;
  double min = 0.0;     ///< x(1)
  double q1 = 0.0;      ///< quartile: x at position 1 + (n - 1) / 4, interpolated linearly (as NumPy's default)
  double median = 0.0;  ///< position 1 + (n - 1) / 2: the middle, or the mean of the two middle ones
  double q3 = 0.0;      ///< position 1 + 3 (n - 1) / 4
  double p90 = 0.0;     ///< nearest rank x(ceil(0.90 n)): a value that occurred; the maximum when n < 10
  double p99 = 0.0;     ///< nearest rank x(ceil(0.99 n)): the maximum when n < 100
  double max = 0.0;     ///< x(n)
  double mean = 0.0;
  double low = 0.0;   ///< x(max(1, floor((n - 1.96 sqrt n) / 2))): lower end of the median's 95 % confidence interval
  double high = 0.0;  ///< x(min(n, ceil(1 + (n + 1.96 sqrt n) / 2))): its upper end

  double interquartile_range() const { return q3 - q1; }

  /// Returns (high - low) / (2 median), which a stop rule compares with its tolerance. It is infinite when n <
  /// samples_for_interval, where [low, high] is [min, max] but covers the median with less than 95 % confidence, and
  /// when median <= 0.
  double relative_half_width() const;
};

/// Summarizes the samples. The ranks of the interval are those of the normal approximation of the binomial (Le Boudec,
/// Performance Evaluation of Computer and Communication Systems, 2010, ch. 2); they assume independent samples of one
/// distribution, no particular distribution. Throws std::invalid_argument when there are no samples or one is not
/// finite.
Summary summarize(std::span<const double> samples);

/// Returns the median of each visit: `samples` hold visits[0] that were taken one after the other, then visits[1], ...
/// Samples of one visit share what the machine does at that time, those of different visits do not, so that intervals
/// are taken over these medians. Throws std::invalid_argument unless the visits, none of them empty, are all the
/// samples.
std::vector<double> medians_of_visits(std::span<const double> samples, std::span<const std::int64_t> visits);

}  // namespace shardmark::results
