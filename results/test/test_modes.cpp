// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "results/modes.hpp"

namespace shardmark::results {
namespace {

/// Share of jobs in which times have two modes: `slow_share` of them, each with a spread of 5 %, are slower by
/// `factor`.
double share_with_modes(double factor, double slow_share, int times, double tail = 0.0) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential;
  std::uniform_real_distribution<double> uniform;
  constexpr int jobs = 500;
  int found = 0;
  for (int job = 0; job < jobs; ++job) {
    std::vector<double> samples;
    for (int i = 0; i < times; ++i)
      samples.push_back((uniform(random) < slow_share ? factor : 1.0) *
                        std::exp(0.05 * normal(random) + tail * exponential(random)));
    found += two_modes(samples).has_value();
  }
  return static_cast<double>(found) / jobs;
}

TEST(Modes, TimesOfOneModeHaveNone) {
  for (const int times : {20, 40, 200}) {
    EXPECT_LE(share_with_modes(1.0, 0.0, times), 0.01) << times;
    EXPECT_LE(share_with_modes(1.0, 0.0, times, 0.2), 0.02) << times << " with a tail";
  }
}

TEST(Modes, TwoAreFound) {
  for (const double share : {0.25, 0.5, 0.75}) {
    EXPECT_GE(share_with_modes(1.6, share, 60), 0.95) << share;
    EXPECT_GE(share_with_modes(3.0, share, 30), 0.9) << share;
  }
}

TEST(Modes, SayWhereTheyLie) {
  std::vector<double> samples;
  for (int i = 0; i < 30; ++i) samples.push_back(i % 3 == 0 ? 20.0 + 0.01 * i : 10.0 + 0.01 * i);
  const auto modes = two_modes(samples);
  ASSERT_TRUE(modes);
  EXPECT_NEAR(modes->fast_ms, 10.15, 0.05);
  EXPECT_NEAR(modes->slow_ms, 20.15, 0.05);
  EXPECT_NEAR(modes->slow_share, 1.0 / 3.0, 1e-12);
  EXPECT_EQ(modes_of({{modes_field, to_json(*modes)}}), modes);
}

TEST(Modes, FewTimesAndSingleSlowOnesAreNone) {
  EXPECT_FALSE(two_modes(std::vector<double>{1, 1, 1, 2, 2, 2}));
  std::vector<double> samples(40, 10.0);
  samples[3] = samples[17] = 30.0;
  EXPECT_FALSE(two_modes(samples));
  EXPECT_FALSE(two_modes(std::vector<double>(40, 10.0)));
  EXPECT_FALSE(modes_of({{modes_field, 3}}));
}

}  // namespace
}  // namespace shardmark::results
