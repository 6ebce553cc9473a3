// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "results/record.hpp"

namespace shardmark::results {

/// Holds the time of `slow` / the time of `fast`, with its confidence interval.
struct TimeRatio {
  double ratio = 1.0, low = 1.0, high = 1.0;
  std::int64_t rounds = 0;  ///< in which both were visited, of which it was taken; 0: not paired

  /// Returns whether low and high are an interval: a single round has none.
  bool has_interval() const { return rounds != 1; }
  /// Returns whether the two are statistically distinguishable: there is an interval, and it holds no 1.
  bool is_distinguishable() const { return has_interval() && (low > 1.0 || high < 1.0); }
  /// Returns half the width of the interval of its logarithm: about that share of the ratio. It is infinite with fewer
  /// rounds than give an interval.
  double relative_half_width() const;
};

/// Returns the number of pairs of that many cases, each of which may be the best and the next; no fewer than 1.
constexpr std::int64_t pairs_of(std::int64_t cases) { return cases < 2 ? 1 : cases * (cases - 1) / 2; }

/// Returns the fewest rounds in which Wilcoxon's signed ranks reach an error of 5 % / comparisons: n rounds reach
/// 2^(1-n). They are 6, 7, 8 and 11 for all pairs of 2, 3, 4 and 8 cases.
std::int64_t rounds_for_interval(std::int64_t comparisons);

/// Estimates the ratio from the rounds of one job. Its cases are visited once in each round, so that visit i of both
/// ran within the same seconds: the machine's drift drops out of the logarithm of the ratio of their medians. From
/// these logarithms the ratio is the estimate of Hodges and Lehmann and its interval that of Wilcoxon's signed ranks
/// (shift.hpp), with the median of each of 100 blocks of rounds where there are more; with fewer rounds than
/// rounds_for_interval(), but more than one, the interval is Student's. The interval's error is 5 % / comparisons
/// (Bonferroni): among several cases all pairs count, since the best is chosen by the same times. Where samples are not
/// of visits the ratio is that of the medians, and its interval goes from low / high to high / low of the two.
TimeRatio time_ratio(const StepTime& slow, const StepTime& fast, std::int64_t comparisons = 1);

/// Returns the two-sided quantile of Student's t: |t| exceeds it with probability `error`.
double student_quantile(std::int64_t degrees, double error);

/// Returns whether one job measured both, so that they share its rounds: in a file that was merged of several jobs they
/// have the same part (part_field).
bool same_job(const CaseRecord& a, const CaseRecord& b);

/// Estimates the ratio of times per sample, since cases may differ in their batch. Cases of different jobs are compared
/// like samples that are not of visits.
TimeRatio time_ratio(const CaseRecord& slow, const CaseRecord& fast, std::int64_t comparisons = 1);

/// Returns the smallest ratio above 1, between two cases that are as noisy as these, that about 9 of 10 runs like this
/// one find: exp(2 h), h the half width of the interval of log ratio, so that the interval around it begins h above 1.
/// twins: the same case measured twice, as two, in the rounds of a job. It is infinite with too few rounds.
double smallest_shown(const TimeRatio& twins);

/// Returns the fastest of at least one case: the one that no case behind it beats within their rounds, and that beats
/// those before it.
template <class Case>
const Case* fastest(const std::vector<const Case*>& cases) {
  const Case* best = cases.front();
  for (const Case* each : cases)
    if (time_ratio(*each, *best).ratio < 1.0) best = each;
  return best;
}

}  // namespace shardmark::results
