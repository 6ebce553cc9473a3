// SPDX-License-Identifier: Apache-2.0
// Differences within rounds: seldom found where there is none, and found where there is one, on machines that drift,
// have slow visits or lose a core now and then.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "results/statistics.hpp"
#include "results/test/simulated_machine.hpp"
#include "results/time_ratio.hpp"

namespace shardmark::results {
namespace {

/// Of many jobs, the share in which the answer claims that some case is slower than the best.
double share_with_claims(const SimulatedMachine& machine, const std::vector<double>& factors, std::int64_t rounds) {
  const std::uint64_t jobs = factors.size() == 2 ? 3000 : 1000;
  int claims = 0;
  for (std::uint64_t job = 0; job < jobs; ++job) {
    const auto times = simulated_times(machine, factors, rounds, job);
    std::vector<const StepTime*> all;
    for (const StepTime& time : times) all.push_back(&time);
    const StepTime* best = fastest(all);
    claims += std::ranges::any_of(all, [&](const StepTime* each) {
      return each != best && time_ratio(*each, *best, pairs_of(std::ssize(all))).is_distinguishable();
    });
  }
  return static_cast<double>(claims) / static_cast<double>(jobs);
}

TEST(TimeRatio, TwoCasesThatDoNotDifferAreSeldomDistinguished) {
  for (const SimulatedMachine& machine : simulated_machines)
    for (const std::int64_t rounds : {6, 14, 40})
      EXPECT_LE(share_with_claims(machine, {1.0, 1.0}, rounds), 0.062)  // 5 %, and three standard errors of 3000 jobs
          << machine.name << ", " << rounds << " rounds";
}

TEST(TimeRatio, NorIsAnyOfSeveral) {
  for (const SimulatedMachine& machine : simulated_machines)
    for (const std::int64_t cases : {3, 8})
      for (const std::int64_t rounds : {std::int64_t{6}, rounds_for_interval(pairs_of(cases)) + 2})
        EXPECT_LE(share_with_claims(machine, std::vector(cases, 1.0), rounds), 0.055)
            << machine.name << ", " << cases << " cases, " << rounds << " rounds";
}

/// Intervals of the cases themselves overlap where they all drift.
TEST(TimeRatio, DifferencesAreFoundWithinRounds) {
  EXPECT_GE(share_with_claims(quiet_machine, {1.0, 1.05}, 14), 0.9);
  EXPECT_GE(share_with_claims(shared_machine, {1.0, 1.5}, 14), 0.9);
  EXPECT_GE(share_with_claims(drifting_machine, {1.0, 1.1}, 14), 0.9);
  int overlapping = 0;
  for (std::uint64_t job = 0; job < 100; ++job) {
    const auto times = simulated_times(drifting_machine, {1.0, 1.1}, 14, job);
    overlapping += times[1].low <= times[0].high;
  }
  EXPECT_GE(overlapping, 50);
}

TEST(TimeRatio, AllComparisonsWithOneCaseHoldTogether) {
  const std::vector<std::int64_t> cases{1, 2, 3, 4, 8, 40}, expected{6, 6, 7, 8, 11, 15};
  for (std::size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(rounds_for_interval(pairs_of(cases[i])), expected[i]);
  const auto times = simulated_times(drifting_machine, {1.0, 1.2}, 20, 1);
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
  EXPECT_GE(share_with_claims(quiet_machine, {1.0, 1.3, 1.3, 1.3, 1.3, 1.3, 1.3, 1.3}, 6), 0.95);
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

/// Two jobs that a merged file holds did not run within the same seconds.
TEST(TimeRatio, CasesOfDifferentJobsAreComparedByTheirMedians) {
  CaseRecord slow, fast;
  slow.step_ms = step_time({19, 20, 20, 20, 20, 21}, {1, 1, 1, 1, 1, 1});
  fast.step_ms = step_time({9, 10, 10, 10, 10, 11}, {1, 1, 1, 1, 1, 1});
  EXPECT_EQ(time_ratio(slow, fast).rounds, 6);
  slow.details[part_field] = fast.details[part_field] = "one";
  EXPECT_EQ(time_ratio(slow, fast).rounds, 6);
  fast.details[part_field] = "other";
  const TimeRatio ratio = time_ratio(slow, fast);
  EXPECT_EQ(ratio.rounds, 0);
  EXPECT_EQ(ratio.high, 21.0 / 9.0);
}

TEST(TimeRatio, OfOneRoundDistinguishesNothing) {
  const TimeRatio ratio = time_ratio(step_time({20, 20}, {2}), step_time({10, 10}, {2}));
  EXPECT_EQ(ratio.rounds, 1);
  EXPECT_NEAR(ratio.ratio, 2.0, 1e-12);
  EXPECT_FALSE(ratio.has_interval());
  EXPECT_FALSE(ratio.is_distinguishable());
}

TEST(TimeRatio, ManyRoundsAreTakenInBlocks) {
  const auto times = simulated_times(quiet_machine, {1.0, 1.01}, 1234, 5);
  const TimeRatio ratio = time_ratio(times[1], times[0]);
  EXPECT_EQ(ratio.rounds, 1234);
  EXPECT_NEAR(ratio.ratio, 1.01, 0.002);
  EXPECT_GT(ratio.low, 1.005);
  EXPECT_LT(ratio.high, 1.015);
}

/// What a pair of equal cases says that a run could have shown is found in about 9 of 10 such runs.
TEST(SmallestShown, IsWhatMostRunsFind) {
  for (const SimulatedMachine& machine : simulated_machines)
    for (const std::int64_t rounds : {9, 20}) {
      int found = 0;
      constexpr std::uint64_t jobs = 400;
      for (std::uint64_t job = 0; job < jobs; ++job) {
        const auto twins = simulated_times(machine, {1.0, 1.0}, rounds, 2 * job);
        const double smallest = smallest_shown(time_ratio(twins[1], twins[0]));
        const auto times = simulated_times(machine, {1.0, smallest}, rounds, 2 * job + 1);
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
}  // namespace shardmark::results
