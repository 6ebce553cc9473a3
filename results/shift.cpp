// SPDX-License-Identifier: Apache-2.0
#include "results/shift.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "results/statistics.hpp"

namespace shardmark::results {
namespace {

/// Beyond these the normal approximation takes the exact distribution's place.
constexpr std::int64_t most_signed_ranks = 100;
constexpr std::int64_t most_rank_sums = 50;

/// Returns the largest k with P(X < k) <= error / 2, and 0 when there is none: k values may be cut off on each side.
std::int64_t cut_of(const std::vector<double>& distribution, double error = 0.05) {
  double below = 0.0;
  for (std::size_t x = 0; x < distribution.size(); ++x) {
    below += distribution[x];
    if (below > error / 2.0 * (1.0 + 1e-12)) return static_cast<std::int64_t>(x);
  }
  return 0;
}

std::int64_t normal_cut(double mean, double variance) {
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(mean - 0.5 - 1.96 * std::sqrt(variance))));
}

/// Returns the median of `values`, between their k-th smallest and k-th largest (k = 0: between their ends).
Shift shift_of(std::vector<double> values, std::int64_t cut) {
  std::ranges::sort(values);
  const std::int64_t k = std::max<std::int64_t>(cut, 1);
  return {.estimate = summarize(values).median, .low = *(values.begin() + k - 1), .high = *(values.end() - k)};
}

}  // namespace

Shift paired_shift(std::span<const double> differences, double error) {
  const std::int64_t n = std::ssize(differences);
  if (n == 0) throw std::invalid_argument("no differences");
  std::vector<double> means;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i; j < n; ++j) means.push_back((differences[i] + differences[j]) / 2.0);
  const auto count = static_cast<double>(n);
  const std::int64_t cut = n <= most_signed_ranks ? cut_of(signed_rank_distribution(n), error)
                                                  : normal_cut(count * (count + 1.0) / 4.0,
                                                               count * (count + 1.0) * (2.0 * count + 1.0) / 24.0);
  return shift_of(std::move(means), cut);
}

Shift unpaired_shift(std::span<const double> old_values, std::span<const double> new_values) {
  const std::int64_t m = std::ssize(old_values), n = std::ssize(new_values);
  if (m == 0 || n == 0) throw std::invalid_argument("no values");
  std::vector<double> differences;
  for (const double a : old_values)
    for (const double b : new_values) differences.push_back(b - a);
  const auto pairs = static_cast<double>(m * n);
  const std::int64_t cut = m + n <= most_rank_sums
                               ? cut_of(rank_sum_distribution(m, n))
                               : normal_cut(pairs / 2.0, pairs * static_cast<double>(m + n + 1) / 12.0);
  return shift_of(std::move(differences), cut);
}

/// The difference of rank r is positive or negative with equal probability: it adds r or 0.
std::vector<double> signed_rank_distribution(std::int64_t n) {
  std::vector<double> p{1.0};
  for (std::int64_t rank = 1; rank <= n; ++rank) {
    std::vector<double> next(p.size() + static_cast<std::size_t>(rank), 0.0);
    for (std::size_t w = 0; w < p.size(); ++w) {
      next[w] += p[w] / 2.0;
      next[w + static_cast<std::size_t>(rank)] += p[w] / 2.0;
    }
    p = std::move(next);
  }
  return p;
}

/// The largest of all values is one of the m with probability m / (m + n), and then exceeds all n others.
std::vector<double> rank_sum_distribution(std::int64_t m, std::int64_t n) {
  std::vector<std::vector<double>> row(static_cast<std::size_t>(n + 1),
                                       {1.0});  // row[b]: of a and b values, from a = 0
  for (std::int64_t a = 1; a <= m; ++a) {
    for (std::int64_t b = 1; b <= n; ++b) {
      const auto& fewer_first = row[b];       // a - 1 and b
      const auto& fewer_second = row[b - 1];  // a and b - 1
      const double first = static_cast<double>(a) / static_cast<double>(a + b);
      std::vector<double> p(static_cast<std::size_t>(a * b + 1), 0.0);
      for (std::size_t u = 0; u < fewer_first.size(); ++u) p[u + static_cast<std::size_t>(b)] += first * fewer_first[u];
      for (std::size_t u = 0; u < fewer_second.size(); ++u) p[u] += (1.0 - first) * fewer_second[u];
      row[b] = std::move(p);
    }
  }
  return row.back();
}

}  // namespace shardmark::results
