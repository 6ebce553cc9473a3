// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "results/statistics.hpp"

namespace shardmark::results {
namespace {

/// 1, 2, ..., n shuffled: x(k) is k, so that the summary shows its ranks.
std::vector<double> ranks_to(int n, unsigned seed = 1) {
  std::vector<double> x(static_cast<std::size_t>(n));
  std::iota(x.begin(), x.end(), 1.0);
  std::shuffle(x.begin(), x.end(), std::mt19937(seed));
  return x;
}

TEST(Statistics, OneSample) {
  const Summary s = summarize(std::vector{7.5});
  EXPECT_EQ(s.n, 1);
  for (const double value : {s.min, s.q1, s.median, s.q3, s.p90, s.p99, s.max, s.mean, s.low, s.high})
    EXPECT_EQ(value, 7.5);
  EXPECT_EQ(s.interquartile_range(), 0.0);
  EXPECT_EQ(s.relative_half_width(), std::numeric_limits<double>::infinity());
}

TEST(Statistics, FourSamples) {
  const Summary s = summarize(std::vector{8.0, 1.0, 2.0, 4.0});
  EXPECT_EQ(s.min, 1.0);
  EXPECT_EQ(s.q1, 1.75);  // position 1.75 of 1 2 4 8
  EXPECT_EQ(s.median, 3.0);
  EXPECT_EQ(s.q3, 5.0);  // position 3.25
  EXPECT_EQ(s.p90, 8.0);
  EXPECT_EQ(s.max, 8.0);
  EXPECT_EQ(s.mean, 3.75);
  EXPECT_EQ(s.low, 1.0);
  EXPECT_EQ(s.high, 8.0);
  EXPECT_EQ(s.interquartile_range(), 3.25);
}

TEST(Statistics, TenSamples) {
  const Summary s = summarize(ranks_to(10));
  EXPECT_EQ(s.n, 10);
  EXPECT_EQ(s.q1, 3.25);
  EXPECT_EQ(s.median, 5.5);
  EXPECT_EQ(s.q3, 7.75);
  EXPECT_EQ(s.p90, 9.0);
  EXPECT_EQ(s.p99, 10.0);
  EXPECT_EQ(s.mean, 5.5);
  EXPECT_EQ(s.low, 1.0);    // floor((10 - 6.198) / 2)
  EXPECT_EQ(s.high, 10.0);  // ceil(1 + (10 + 6.198) / 2)
  EXPECT_DOUBLE_EQ(s.relative_half_width(), 9.0 / 11.0);
}

TEST(Statistics, TwentyFiveSamples) {
  const Summary s = summarize(ranks_to(25));
  EXPECT_EQ(s.median, 13.0);
  EXPECT_EQ(s.low, 7.0);    // floor((25 - 9.8) / 2)
  EXPECT_EQ(s.high, 19.0);  // ceil(1 + (25 + 9.8) / 2)
  EXPECT_EQ(s.relative_half_width(), 6.0 / 13.0);
}

TEST(Statistics, HundredSamples) {
  const Summary s = summarize(ranks_to(100));
  EXPECT_EQ(s.q1, 25.75);
  EXPECT_EQ(s.median, 50.5);
  EXPECT_EQ(s.q3, 75.25);
  EXPECT_EQ(s.p90, 90.0);
  EXPECT_EQ(s.p99, 99.0);
  EXPECT_EQ(s.low, 40.0);   // floor((100 - 19.6) / 2)
  EXPECT_EQ(s.high, 61.0);  // ceil(1 + (100 + 19.6) / 2)
  EXPECT_DOUBLE_EQ(s.relative_half_width(), 21.0 / 101.0);
}

TEST(Statistics, TheTailOfFewSamplesIsTheMaximum) {
  EXPECT_EQ(summarize(ranks_to(9)).p90, 9.0);
  EXPECT_EQ(summarize(ranks_to(99)).p99, 99.0);
  EXPECT_EQ(summarize(ranks_to(101)).p99, 100.0);
  EXPECT_EQ(summarize(ranks_to(200)).p99, 198.0);
}

/// Chance that a median lies in [x(low), x(high)): the number of samples below it is binomial (n, 1/2).
double coverage(int n, int low, int high) {
  double covered = 0.0;
  for (int below = low; below < high; ++below)
    covered +=
        std::exp(std::lgamma(n + 1.0) - std::lgamma(below + 1.0) - std::lgamma(n - below + 1.0) - n * std::log(2.0));
  return covered;
}

TEST(Statistics, TheIntervalCoversTheMedianInNinetyFivePercent) {
  for (int n = samples_for_interval; n <= 300; ++n) {
    SCOPED_TRACE(n);
    const Summary s = summarize(ranks_to(n));
    EXPECT_GE(coverage(n, static_cast<int>(s.low), static_cast<int>(s.high)), 0.95);
    EXPECT_TRUE(std::isfinite(s.relative_half_width()));
  }
}

TEST(Statistics, FewerThanSixSamplesGiveNoInterval) {
  for (int n = 1; n < samples_for_interval; ++n) {
    SCOPED_TRACE(n);
    const Summary s = summarize(ranks_to(n));
    EXPECT_EQ(s.low, 1.0);
    EXPECT_EQ(s.high, n);
    EXPECT_LT(coverage(n, 1, n), 0.95);
    EXPECT_TRUE(std::isinf(s.relative_half_width()));
  }
}

TEST(Statistics, AMedianOfZeroGivesNoRelativeWidth) {
  EXPECT_TRUE(std::isinf(summarize(std::vector<double>(10, 0.0)).relative_half_width()));
}

TEST(Statistics, TheOrderOfTheSamplesDoesNotMatter) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const Summary s = summarize(ranks_to(37, seed));
    EXPECT_EQ(s.median, 19.0);
    EXPECT_EQ(s.low, 12.0);   // floor((37 - 11.922) / 2)
    EXPECT_EQ(s.high, 26.0);  // ceil(1 + (37 + 11.922) / 2)
  }
}

TEST(Statistics, RefusesWhatHasNoOrder) {
  EXPECT_THROW(summarize({}), std::invalid_argument);
  EXPECT_THROW(summarize(std::vector{1.0, std::numeric_limits<double>::quiet_NaN()}), std::invalid_argument);
  EXPECT_THROW(summarize(std::vector{1.0, std::numeric_limits<double>::infinity()}), std::invalid_argument);
}

}  // namespace
}  // namespace shardmark::results
