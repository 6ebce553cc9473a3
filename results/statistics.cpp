// SPDX-License-Identifier: Apache-2.0
#include "results/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace shardmark::results {
namespace {

using Sorted = std::vector<double>;

double at_rank(const Sorted& x, std::int64_t rank) { return x[std::clamp<std::int64_t>(rank, 1, std::ssize(x)) - 1]; }

/// Returns x at position 1 + quarters (n - 1) / 4.
double quartile(const Sorted& x, std::int64_t quarters) {
  const std::int64_t position = quarters * (std::ssize(x) - 1);
  const double below = at_rank(x, 1 + position / 4);
  const double above = at_rank(x, 2 + position / 4);
  return below + (above - below) * (static_cast<double>(position % 4) / 4.0);
}

/// Returns x(ceil(percent n / 100)), in integers: 0.99 n would round up past a whole number.
double nearest_rank(const Sorted& x, std::int64_t percent) { return at_rank(x, (percent * std::ssize(x) + 99) / 100); }

}  // namespace

double Summary::relative_half_width() const {
  if (n < samples_for_interval || median <= 0.0) return std::numeric_limits<double>::infinity();
  return (high - low) / (2.0 * median);
}

Summary summarize(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("no samples to summarize");
  if (!std::ranges::all_of(samples, [](double x) { return std::isfinite(x); }))
    throw std::invalid_argument("a sample is not finite");
  Sorted x(samples.begin(), samples.end());
  std::ranges::sort(x);
  const auto n = static_cast<double>(x.size());
  const double reach = 1.96 * std::sqrt(n);
  return {
      .n = std::ssize(x),
      .min = x.front(),
      .q1 = quartile(x, 1),
      .median = quartile(x, 2),
      .q3 = quartile(x, 3),
      .p90 = nearest_rank(x, 90),
      .p99 = nearest_rank(x, 99),
      .max = x.back(),
      .mean = std::accumulate(x.begin(), x.end(), 0.0) / n,
      .low = at_rank(x, static_cast<std::int64_t>(std::floor((n - reach) / 2.0))),
      .high = at_rank(x, static_cast<std::int64_t>(std::ceil(1.0 + (n + reach) / 2.0))),
  };
}

std::vector<double> medians_of_visits(std::span<const double> samples, std::span<const std::int64_t> visits) {
  std::vector<double> medians;
  for (const std::int64_t count : visits) {
    if (count < 1 || count > std::ssize(samples)) throw std::invalid_argument("visits are not those of the samples");
    medians.push_back(summarize(samples.first(count)).median);
    samples = samples.subspan(count);
  }
  if (!samples.empty()) throw std::invalid_argument("samples belong to no visit");
  return medians;
}

}  // namespace shardmark::results
