// SPDX-License-Identifier: Apache-2.0
#include "results/prediction_quality.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "results/statistics.hpp"

namespace shardmark::results {
namespace {

/// Returns Pearson's correlation.
std::optional<double> correlation(std::span<const double> a, std::span<const double> b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::reduce(a.begin(), a.end()) / n, mean_b = std::reduce(b.begin(), b.end()) / n;
  double both = 0.0, of_a = 0.0, of_b = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    of_a += (a[i] - mean_a) * (a[i] - mean_a);
    of_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  if (of_a == 0.0 || of_b == 0.0) return std::nullopt;
  return both / std::sqrt(of_a * of_b);
}

/// Holds the times of one step.
struct TimedStep {
  std::size_t first;  ///< the number of its first case
  double predicted;
  std::vector<double> measured;
};

std::vector<TimedStep> steps_of(std::span<const PredictedTime> times) {
  std::vector<TimedStep> steps;
  for (std::size_t t = 0; t < times.size(); ++t) {
    const auto same = [&](const TimedStep& step) {
      return !times[t].step.empty() && times[step.first].step == times[t].step && step.predicted == times[t].predicted;
    };
    const auto found = std::ranges::find_if(steps, same);
    if (found == steps.end())
      steps.push_back({t, times[t].predicted, {times[t].measured}});
    else
      found->measured.push_back(times[t].measured);
  }
  return steps;
}

bool is_time(double x) { return std::isfinite(x) && x > 0.0; }

}  // namespace

std::vector<double> mean_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + 1 + end) / 2.0;
  }
  return ranks;
}

std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) throw std::invalid_argument("ranks are compared of as many values");
  return correlation(mean_ranks(a), mean_ranks(b));
}

double share_within(std::span<const PredictedTime> times, double most_error) {
  if (times.empty()) throw std::invalid_argument("a share is one of some times");
  const auto within =
      std::ranges::count_if(times, [&](const auto& time) { return std::abs(time.error()) <= most_error; });
  return static_cast<double>(within) / static_cast<double>(times.size());
}

bool same_order(const PredictedTime& a, const PredictedTime& b) {
  return (a.predicted <=> b.predicted) == (a.measured <=> b.measured);
}

PredictionQuality prediction_quality(std::span<const PredictedTime> times) {
  if (times.empty() || !std::ranges::all_of(times, is_time, &PredictedTime::measured) ||
      !std::ranges::all_of(times, is_time, &PredictedTime::predicted))
    throw std::invalid_argument("predictions are judged by positive times");
  PredictionQuality quality;
  for (const PredictedTime& time : times)
    quality.mean_error += std::abs(time.error()) / static_cast<double>(times.size());
  std::vector<double> predicted, measured;
  std::pair<double, double> liked{std::numeric_limits<double>::infinity(), 0.0};  // predicted, -measured
  for (const TimedStep& step : steps_of(times)) {
    predicted.push_back(step.predicted);
    measured.push_back(summarize(step.measured).median);
    if (std::pair(predicted.back(), -measured.back()) >= liked) continue;
    liked = {predicted.back(), -measured.back()};
    quality.liked = step.first;
  }
  quality.rank_correlation = rank_correlation(predicted, measured);
  quality.regret = -liked.second / std::ranges::min(measured) - 1.0;
  return quality;
}

}  // namespace shardmark::results
