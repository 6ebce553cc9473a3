// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "results/shift.hpp"

namespace shardmark::results {
namespace {

/// Differences 1, 2, ..., n: the means of pairs are (i + j) / 2.
std::vector<double> up_to(int n) {
  std::vector<double> x(static_cast<std::size_t>(n));
  std::iota(x.begin(), x.end(), 1.0);
  return x;
}

void expect_counts(const std::vector<double>& p, const std::vector<int>& counts) {
  const double paths = std::accumulate(counts.begin(), counts.end(), 0.0);
  ASSERT_EQ(p.size(), counts.size());
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_DOUBLE_EQ(p[i], counts[i] / paths) << i;
}

double up_to_and_with(const std::vector<double>& p, std::size_t x) {
  return std::accumulate(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(x + 1), 0.0);
}

TEST(Shift, SignedRankDistributionsCountedByHand) {
  expect_counts(signed_rank_distribution(0), {1});
  expect_counts(signed_rank_distribution(2), {1, 1, 1, 1});
  expect_counts(signed_rank_distribution(3), {1, 1, 1, 2, 1, 1, 1});  // 3 = 1 + 2
  expect_counts(signed_rank_distribution(4), {1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1});
}

TEST(Shift, RankSumDistributionsCountedByHand) {
  expect_counts(rank_sum_distribution(1, 3), {1, 1, 1, 1});
  expect_counts(rank_sum_distribution(2, 2), {1, 1, 2, 1, 1});
  expect_counts(rank_sum_distribution(3, 2), {1, 1, 2, 2, 2, 1, 1});
  expect_counts(rank_sum_distribution(2, 3), {1, 1, 2, 2, 2, 1, 1});
}

/// Printed tables: largest W and U with a two-sided p of at most 5 % (Hollander, Wolfe and Chicken, tables A.4 and
/// A.6).
TEST(Shift, CriticalValuesOfTheTables) {
  for (const auto& [n, w] : {std::pair{6, 0}, {8, 3}, {10, 8}, {15, 25}, {20, 52}}) {
    const auto p = signed_rank_distribution(n);
    EXPECT_LE(2.0 * up_to_and_with(p, static_cast<std::size_t>(w)), 0.05) << n;
    EXPECT_GT(2.0 * up_to_and_with(p, static_cast<std::size_t>(w + 1)), 0.05) << n;
  }
  for (const auto& [n, u] : {std::pair{4, 0}, {5, 2}, {8, 13}, {10, 23}, {20, 127}}) {
    const auto p = rank_sum_distribution(n, n);
    EXPECT_LE(2.0 * up_to_and_with(p, static_cast<std::size_t>(u)), 0.05) << n;
    EXPECT_GT(2.0 * up_to_and_with(p, static_cast<std::size_t>(u + 1)), 0.05) << n;
  }
}

TEST(Shift, PairedByHand) {
  const Shift shift = paired_shift(std::vector{1.0, 2.0, 4.0});  // means 1 1.5 2 2.5 3 4
  EXPECT_EQ(shift.estimate, 2.25);
  EXPECT_EQ(shift.low, 1.0);  // too few: the whole range
  EXPECT_EQ(shift.high, 4.0);
}

TEST(Shift, PairedIntervalsCutAtTheCriticalValue) {
  const Shift six = paired_shift(up_to(6));
  EXPECT_EQ(six.low, 1.0);
  EXPECT_EQ(six.high, 6.0);
  const Shift eight = paired_shift(up_to(8));  // the 4th of the means 1 1.5 2 2 2.5 ...
  EXPECT_EQ(eight.estimate, 4.5);
  EXPECT_EQ(eight.low, 2.0);
  EXPECT_EQ(eight.high, 7.0);
}

TEST(Shift, UnpairedByHand) {
  const Shift shift = unpaired_shift(std::vector{1.0, 2.0}, std::vector{4.0, 8.0});  // differences 2 3 6 7
  EXPECT_EQ(shift.estimate, 4.5);
  EXPECT_EQ(shift.low, 2.0);
  EXPECT_EQ(shift.high, 7.0);
}

TEST(Shift, UnpairedIntervalsCutAtTheCriticalValue) {
  const std::vector<double> old_values = up_to(5);
  std::vector<double> new_values = up_to(5);
  for (double& x : new_values) x += 10.0;
  const Shift shift = unpaired_shift(old_values, new_values);  // the 3rd of the differences 6 7 7 8 8 8 ...
  EXPECT_EQ(shift.estimate, 10.0);
  EXPECT_EQ(shift.low, 7.0);
  EXPECT_EQ(shift.high, 13.0);
}

TEST(Shift, TiesAndSingleValues) {
  const Shift ties = paired_shift(std::vector{2.0, 2.0, 2.0, 2.0, 2.0, 2.0});
  EXPECT_EQ(ties.low, 2.0);
  EXPECT_EQ(ties.high, 2.0);
  EXPECT_EQ(paired_shift(std::vector{3.0}).estimate, 3.0);
  EXPECT_EQ(unpaired_shift(std::vector{3.0}, std::vector{5.0}).high, 2.0);
  EXPECT_THROW(paired_shift({}), std::invalid_argument);
  EXPECT_THROW(unpaired_shift({}, std::vector{1.0}), std::invalid_argument);
}

/// 95 % intervals of a normal and of a disturbed sample, on both sides of the change to the normal approximation.
TEST(Shift, IntervalsCoverTheShift) {
  constexpr unsigned seed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto draw = [&](int n, double shift) {
    std::vector<double> x;
    for (int i = 0; i < n; ++i) x.push_back(shift + normal(random) * (random() % 10 == 0 ? 20.0 : 1.0));
    return x;
  };
  for (const int n : {6, 12, 24, 26, 110}) {
    const int trials = n > 100 ? 300 : 1500;
    int paired = 0, unpaired = 0;
    for (int trial = 0; trial < trials; ++trial) {
      const Shift a = paired_shift(draw(n, 1.0));
      const Shift b = unpaired_shift(draw(n, 2.0), draw(n, 3.0));
      paired += a.low <= 1.0 && 1.0 <= a.high;
      unpaired += b.low <= 1.0 && 1.0 <= b.high;
    }
    EXPECT_GE(paired, 0.93 * trials) << n;  // 95 % less 3.5 standard deviations of the count
    EXPECT_GE(unpaired, 0.93 * trials) << n;
    EXPECT_LE(unpaired, 0.985 * trials) << n;
  }
}

}  // namespace
}  // namespace shardmark::results
