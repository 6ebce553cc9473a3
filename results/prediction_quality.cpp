// SPDX-License-Identifier: Apache-2.0
#include "results/prediction_quality.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

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
  std::vector<double> predicted, measured;
  for (const PredictedTime& time : times) {
    quality.mean_error += std::abs(time.error()) / static_cast<double>(times.size());
    predicted.push_back(time.predicted);
    measured.push_back(time.measured);
  }
  quality.rank_correlation = rank_correlation(predicted, measured);
  const auto liked = std::ranges::min_element(
      times, {}, [](const PredictedTime& time) { return std::pair(time.predicted, -time.measured); });
  quality.liked = static_cast<std::size_t>(liked - times.begin());
  quality.regret = liked->measured / std::ranges::min(measured) - 1.0;
  return quality;
}

}  // namespace shardmark::results
