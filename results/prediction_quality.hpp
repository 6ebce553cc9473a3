// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardmark::results {

/// Holds a case's time, of a step or a sample, as it was predicted before it ran and as it was measured; in one unit.
struct PredictedTime {
  double predicted = 0.0;
  double measured = 0.0;
  std::string step = {};  ///< names the step that was timed; empty: no other time is of the same

  /// Returns (predicted - measured) / measured: negative where it took longer than was predicted.
  double error() const { return (predicted - measured) / measured; }
};

/// Says how good the predictions of several cases were.
struct PredictionQuality {
  double mean_error = 0.0;                 ///< MAPE: mean of |error()|, 0.1 for 10 %
  std::optional<double> rank_correlation;  ///< rank_correlation() of predicted and measured, by step
  std::size_t liked = 0;                   ///< a case of the step of least prediction; among equals the slowest of them
  double regret = 0.0;                     ///< measured time of that step / the least measured - 1
};

/// This is the error within which a prediction is counted as right where nobody states another.
inline constexpr double usual_claim = 0.25;

/// Returns the share of the times whose error is at most so much, over or under. Throws std::invalid_argument when
/// there are no times.
double share_within(std::span<const PredictedTime> times, double most_error);

/// Returns whether two cases were predicted in the order in which they were measured: the same one takes longer, or
/// both take as long.
bool same_order(const PredictedTime& a, const PredictedTime& b);

/// Rates the predictions. Order and regret are those of different steps: where several cases are of the same step, as
/// where planners found the same plan, with the same prediction, its time is the median of theirs, and no order among
/// them tells anything. Throws std::invalid_argument when there are no times, or one is not positive and finite.
PredictionQuality prediction_quality(std::span<const PredictedTime> times);

/// Returns Spearman's rho: the correlation of the ranks, equal values having the mean of theirs. It is -1 to 1; absent
/// where the values of one are all equal. Throws std::invalid_argument unless both have as many values.
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

/// Returns the rank of each value from 1 on, ascending; equal values have the mean of the ranks that they take.
std::vector<double> mean_ranks(std::span<const double> values);

}  // namespace shardmark::results
