// SPDX-License-Identifier: Apache-2.0
#include "results/permutation_test.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "results/statistics.hpp"

namespace shardmark::results {
namespace {

using Values = std::vector<double>;
using Weights = std::vector<double>;  ///< [launches or pairs]: what a relabelling makes of each score

constexpr std::int64_t most_relabellings = 20'000;
constexpr std::uint64_t seed = 1;
constexpr double tolerance = 1e-9;  ///< statistics that are equal but for rounding are ties

double median_size(Values values) {
  for (double& value : values) value = std::fabs(value);
  return summarize(values).median;
}

/// Scales the scores to sum s^2 = 1, which makes cases of different noise comparable; no relabelling changes the sum.
Values scaled(Values scores) {
  const double square = std::inner_product(scores.begin(), scores.end(), scores.begin(), 0.0);
  for (double& score : scores) score = square > 0.0 ? score / std::sqrt(square) : 0.0;
  return scores;
}

Values cut_scores(Values differences) {
  const double limit = median_size(differences);
  for (double& value : differences) value = std::clamp(value, -limit, limit);
  return scaled(std::move(differences));
}

/// Ranks from 1, ties sharing their mean, less the mean of all; scaled.
Values rank_scores(const Values& values) {
  Values scores;
  for (const double value : values) {
    const auto less = std::ranges::count_if(values, [&](double other) { return other < value; });
    const auto equal = std::ranges::count(values, value);
    scores.push_back(static_cast<double>(2 * less + equal - std::ssize(values)) / 2.0);
  }
  return scaled(std::move(scores));
}

double statistic(const Weights& weights, const Values& scores) {
  return std::fabs(std::inner_product(weights.begin(), weights.end(), scores.begin(), 0.0));
}

using Visit = std::function<void(const Weights&)>;

/// Visits every pattern of signs, of a pattern and its negative only one; or, of many pairs, drawn ones after the
/// observed.
void for_each_sign_pattern(std::size_t pairs, const Visit& visit) {
  Weights signs(pairs, 1.0);
  if (pairs <= 15) {
    for (std::uint64_t pattern = 0; pattern < std::uint64_t{1} << (pairs - 1); ++pattern) {
      for (std::size_t i = 0; i + 1 < pairs; ++i) signs[i] = (pattern >> i & 1) != 0 ? -1.0 : 1.0;
      visit(signs);
    }
    return;
  }
  visit(signs);
  std::mt19937_64 random(seed);
  for (std::int64_t drawn = 0; drawn < most_relabellings; ++drawn) {
    for (double& sign : signs) sign = (random() & 1) != 0 ? -1.0 : 1.0;
    visit(signs);
  }
}

double ways_to_choose(std::size_t from, std::size_t chosen) {
  double ways = 1.0;
  for (std::size_t i = 1; i <= chosen; ++i) ways *= static_cast<double>(from - chosen + i) / static_cast<double>(i);
  return ways;
}

/// Visits every choice of the OLD launches, or drawn ones after the observed.
void for_each_deal(std::size_t old_launches, std::size_t new_launches, const Visit& visit) {
  Weights weights(old_launches, -1.0 / static_cast<double>(old_launches));
  weights.resize(old_launches + new_launches, 1.0 / static_cast<double>(new_launches));
  if (ways_to_choose(old_launches + new_launches, old_launches) <= most_relabellings) {
    do visit(weights);  // ascending at first: next_permutation passes every arrangement
    while (std::ranges::next_permutation(weights).found);
    return;
  }
  visit(weights);
  std::mt19937_64 random(seed);
  for (std::int64_t drawn = 0; drawn < most_relabellings; ++drawn) {
    std::ranges::shuffle(weights, random);
    visit(weights);
  }
}

/// Returns for each case the share of relabellings, the observed one (the first) among them, whose largest statistic
/// over the cases is at least the observed statistic of this case.
Values p_values(const std::vector<Values>& scores, const std::function<void(const Visit&)>& for_each_relabelling) {
  Values observed;
  std::vector<std::int64_t> reached(scores.size(), 0);
  std::int64_t relabellings = 0;
  for_each_relabelling([&](const Weights& weights) {
    double largest = 0.0;
    for (const Values& each : scores) largest = std::max(largest, statistic(weights, each));
    if (relabellings++ == 0)
      for (const Values& each : scores) observed.push_back(statistic(weights, each));
    for (std::size_t c = 0; c < scores.size(); ++c) reached[c] += largest >= observed[c] - tolerance;
  });
  Values p;
  for (const std::int64_t count : reached) p.push_back(static_cast<double>(count) / static_cast<double>(relabellings));
  return p;
}

}  // namespace

std::vector<double> paired_p_values(const std::vector<std::vector<double>>& differences) {
  if (differences.empty()) return {};
  std::vector<Values> scores;
  for (const Values& each : differences) scores.push_back(cut_scores(each));
  return p_values(scores, [&](const Visit& visit) { for_each_sign_pattern(differences[0].size(), visit); });
}

std::vector<double> unpaired_p_values(const std::vector<std::vector<double>>& values, std::int64_t old_launches) {
  if (values.empty()) return {};
  std::vector<Values> scores;
  for (const Values& each : values) scores.push_back(rank_scores(each));
  const auto old_count = static_cast<std::size_t>(old_launches);
  return p_values(scores, [&](const Visit& visit) { for_each_deal(old_count, values[0].size() - old_count, visit); });
}

}  // namespace shardmark::results
