// SPDX-License-Identifier: Apache-2.0
// Differences within rounds: seldom found where there is none, and found where there is one, on machines that drift,
// have slow visits or lose a core now and then.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>

#include "results/statistics.hpp"
#include "results/time_ratio.hpp"

namespace shardmark {
namespace {

/// What visits of 10 steps take; natural logarithms.
struct Machine {
  const char* name;
  double drift;       ///< spread from round to round, which all cases of a round share
  double visit;       ///< spread of visits
  double step;        ///< spread of steps
  double slow_share;  ///< of visits that another process takes part of
  double slow;        ///< by what they are slower, exponentially distributed
};
constexpr Machine quiet{"quiet", 0.005, 0.008, 0.02, 0.03, 0.1};
constexpr Machine drifting{"drifting", 0.05, 0.02, 0.05, 0.05, 0.2};
constexpr Machine shared{"one core taken", 0.1, 0.08, 0.3, 0.25, 0.4};
constexpr std::array machines{quiet, drifting, shared};

/// Times of cases that differ by these factors, in so many rounds.
std::vector<StepTime> measured(const Machine& machine, const std::vector<double>& factors, std::int64_t rounds,
                               std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::exponential_distribution<double> tail;
  std::vector<std::vector<double>> samples(factors.size());
  double drift = 0.0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    drift += machine.drift * normal(random);
    for (std::size_t c = 0; c < factors.size(); ++c) {
      double offset = std::log(10.0 * factors[c]) + drift + machine.visit * normal(random);
      if (uniform(random) < machine.slow_share) offset += machine.slow * tail(random);
      for (int step = 0; step < 10; ++step) samples[c].push_back(std::exp(offset + machine.step * normal(random)));
    }
  }
  std::vector<StepTime> times;
  for (const auto& each : samples) times.push_back(step_time(each, std::vector<std::int64_t>(rounds, 10)));
  return times;
}

/// Of many jobs, the share in which the answer claims that some case is slower than the best.
double share_with_claims(const Machine& machine, const std::vector<double>& factors, std::int64_t rounds) {
  const int jobs = factors.size() == 2 ? 3000 : 1000;
  std::mt19937_64 random(static_cast<std::uint64_t>(1e6 * machine.step) + static_cast<std::uint64_t>(rounds));
  int claims = 0;
  for (int job = 0; job < jobs; ++job) {
    const auto times = measured(machine, factors, rounds, random);
    std::vector<const StepTime*> all;
    for (const StepTime& time : times) all.push_back(&time);
    const StepTime* best = fastest(all);
    claims += std::ranges::any_of(all, [&](const StepTime* each) {
      return each != best && time_ratio(*each, *best, pairs_of(std::ssize(all))).is_distinguishable();
    });
  }
  return static_cast<double>(claims) / jobs;
}

TEST(TimeRatio, TwoCasesThatDoNotDifferAreSeldomDistinguished) {
  for (const Machine& machine : machines)
    for (const std::int64_t rounds : {6, 9, 14, 40})
      EXPECT_LE(share_with_claims(machine, {1.0, 1.0}, rounds), 0.055) << machine.name << ", " << rounds << " rounds";
}

TEST(TimeRatio, NorIsAnyOfSeveral) {
  for (const Machine& machine : machines)
    for (const std::int64_t cases : {3, 4, 8})
      for (const std::int64_t rounds : {std::int64_t{6}, rounds_for_interval(pairs_of(cases)) + 2})
        EXPECT_LE(share_with_claims(machine, std::vector(cases, 1.0), rounds), 0.055)
            << machine.name << ", " << cases << " cases, " << rounds << " rounds";
}

/// Intervals of the cases themselves overlap where they all drift.
TEST(TimeRatio, DifferencesAreFoundWithinRounds) {
  EXPECT_GE(share_with_claims(quiet, {1.0, 1.05}, 14), 0.9);
  EXPECT_GE(share_with_claims(shared, {1.0, 1.5}, 14), 0.9);
  EXPECT_GE(share_with_claims(drifting, {1.0, 1.1}, 14), 0.9);
  std::mt19937_64 random(3);
  int overlapping = 0;
  for (int job = 0; job < 100; ++job) {
    const auto times = measured(drifting, {1.0, 1.1}, 14, random);
    overlapping += times[1].low <= times[0].high;
  }
  EXPECT_GE(overlapping, 50);
}

TEST(TimeRatio, AllComparisonsWithOneCaseHoldTogether) {
  const std::vector<std::int64_t> cases{1, 2, 3, 4, 8, 40}, expected{6, 6, 7, 8, 11, 15};
  for (std::size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(rounds_for_interval(pairs_of(cases[i])), expected[i]);
  std::mt19937_64 random(1);
  const auto times = measured(drifting, {1.0, 1.2}, 20, random);
  const TimeRatio alone = time_ratio(times[1], times[0]), of_many = time_ratio(times[1], times[0], 10);
  EXPECT_LT(of_many.low, alone.low);
  EXPECT_GT(of_many.high, alone.high);
  EXPECT_EQ(of_many.ratio, alone.ratio);
  EXPECT_EQ(alone.rounds, 20);
}

/// From tables of the distribution.
TEST(TimeRatio, QuantilesOfStudentsT) {
  EXPECT_NEAR(student_quantile(1, 0.05), 12.706, 0.001);
  EXPECT_NEAR(student_quantile(5, 0.05), 2.5706, 0.0001);
  EXPECT_NEAR(student_quantile(5, 0.001), 6.8688, 0.001);
  EXPECT_NEAR(student_quantile(30, 0.01), 2.7500, 0.0001);
}

/// Six rounds of eight cases are too few for signed ranks, not for what is plain.
TEST(TimeRatio, WhatIsPlainIsFoundInFewRounds) {
  EXPECT_GE(share_with_claims(quiet, {1.0, 1.3, 1.3, 1.3, 1.3, 1.3, 1.3, 1.3}, 6), 0.95);
}

TEST(TimeRatio, IsTakenOfTheRoundsThatBothWereVisitedIn) {
  const StepTime stopped = step_time({12, 12, 12, 12, 12, 12}, {1, 1, 1, 1, 1, 1});
  const StepTime other =
      step_time({10, 10, 10, 10, 10, 10, 30, 30, 30, 30, 30, 30, 30, 30}, std::vector<std::int64_t>(14, 1));
  const TimeRatio ratio = time_ratio(stopped, other);
  EXPECT_EQ(ratio.rounds, 6);
  EXPECT_NEAR(ratio.ratio, 1.2, 1e-12);
  EXPECT_NEAR(time_ratio(other, stopped).ratio, 1 / 1.2, 1e-12);
}

TEST(TimeRatio, OfSamplesWithoutVisitsComparesTheirIntervals) {
  const StepTime slow = step_time({19, 20, 20, 20, 20, 21}), fast = step_time({9, 10, 10, 10, 10, 11});
  const TimeRatio ratio = time_ratio(slow, fast);
  EXPECT_EQ(ratio.rounds, 0);
  EXPECT_EQ(ratio.ratio, 2.0);
  EXPECT_EQ(ratio.low, 19.0 / 11.0);
  EXPECT_EQ(ratio.high, 21.0 / 9.0);
}

TEST(TimeRatio, ManyRoundsAreTakenInBlocks) {
  std::mt19937_64 random(5);
  const auto times = measured(quiet, {1.0, 1.01}, 1234, random);
  const TimeRatio ratio = time_ratio(times[1], times[0]);
  EXPECT_EQ(ratio.rounds, 1234);
  EXPECT_NEAR(ratio.ratio, 1.01, 0.002);
  EXPECT_GT(ratio.low, 1.005);
  EXPECT_LT(ratio.high, 1.015);
}

/// What a pair of equal cases says that a run could have shown is found in about 9 of 10 such runs.
TEST(SmallestShown, IsWhatMostRunsFind) {
  for (const Machine& machine : machines)
    for (const std::int64_t rounds : {9, 20}) {
      std::mt19937_64 random(11);
      int found = 0;
      constexpr int jobs = 400;
      for (int job = 0; job < jobs; ++job) {
        const auto twins = measured(machine, {1.0, 1.0}, rounds, random);
        const double smallest = smallest_shown(time_ratio(twins[1], twins[0]));
        const auto times = measured(machine, {1.0, smallest}, rounds, random);
        found += time_ratio(times[1], times[0]).low > 1.0;
      }
      EXPECT_GE(found, 0.8 * jobs) << machine.name << ", " << rounds << " rounds";
      EXPECT_LE(found, 0.99 * jobs) << machine.name << ", " << rounds << " rounds";
    }
}

TEST(SmallestShown, NeedsRounds) {
  const StepTime few = step_time({10, 11, 10}, {1, 1, 1});
  EXPECT_TRUE(std::isinf(smallest_shown(time_ratio(few, few))));
}

}  // namespace
}  // namespace shardmark
