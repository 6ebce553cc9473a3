// SPDX-License-Identifier: Apache-2.0
// When cases have their turn, when they are left out, and when the measurement ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "results/test/simulated_machine.hpp"
#include "workloads/measure/schedule.hpp"

namespace shardmark::workloads {
namespace {

/// Of so many visits of three steps, between low and high: the first of them lowest.
Standing standing(double low, double high, std::int64_t visits = least_rounds) {
  std::vector<double> samples;
  for (std::int64_t visit = 0; visit < visits; ++visit)
    samples.insert(samples.end(), 3, low + (high - low) * static_cast<double>(visit) / static_cast<double>(visits - 1));
  return {.time = results::step_time(samples, std::vector<std::int64_t>(visits, 3))};
}

/// The visits in reverse order: noise of its own.
Standing reversed(Standing standing) {
  std::ranges::reverse(standing.time.samples);
  return standing;
}

TEST(Turns, EachHasOneInEveryRoundAndNobodyIsAlwaysFirst) {
  for (const std::size_t n : {1U, 2U, 5U, 40U}) {
    std::set<std::size_t> first;
    for (std::int64_t round = 0; round < 300; ++round) {
      auto order = order_of_turns(n, 1, round);
      first.insert(order.front());
      EXPECT_EQ(order, order_of_turns(n, 1, round));
      std::ranges::sort(order);
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(order[i], i);
    }
    EXPECT_EQ(first.size(), n);
  }
  EXPECT_NE(order_of_turns(40, 1, 0), order_of_turns(40, 2, 0));
  EXPECT_NE(order_of_turns(40, 1, 0), order_of_turns(40, 1, 0, 1));
}

TEST(Visits, TheirStepsFollowTheTimeOfAStep) {
  const RunOptions options;
  EXPECT_EQ(steps_per_visit(options, 0.25, 0.01), 25);
  EXPECT_EQ(steps_per_visit(options, 0.25, 1.0), 2);
  EXPECT_EQ(steps_per_visit(options, 0.25, 1e-6), 200);
  EXPECT_EQ(steps_per_visit(options, -1.0, 0.01), 2);
  RunOptions counted;
  for (const std::int64_t steps : {1, 6, 7, 100}) {
    counted.steps = steps;
    EXPECT_GE(least_rounds * steps_per_visit(counted, 0.25, 0.01), steps);
    EXPECT_LT((least_rounds - 1) * (steps_per_visit(counted, 0.25, 0.01) - 1), steps);
  }
}

TEST(Visits, AreShorterWhereTheLeastRoundsWouldNotFit) {
  EXPECT_EQ(seconds_of_visit(1000.0, 0, 8), 0.25);
  EXPECT_DOUBLE_EQ(seconds_of_visit(4.8, 0, 8), 0.05);
  EXPECT_DOUBLE_EQ(seconds_of_visit(1.6, 4, 8), 0.05);
  EXPECT_DOUBLE_EQ(seconds_of_visit(1.6, 20, 8), 0.1);
}

TEST(Races, OnlyWhatIsSlowerBeyondTheGapWithinTheRoundsIsLeftOut) {
  const std::vector cases{standing(100, 200), standing(102, 204), standing(104, 208), standing(140, 280)};
  EXPECT_EQ(certainly_slower({}, cases), (std::vector<std::size_t>{2, 3}));
  const std::vector noisy{standing(100, 200), reversed(standing(104, 208))};
  EXPECT_TRUE(certainly_slower({}, noisy).empty());
}

TEST(Races, NobodyIsLeftOutBeforeThereAreIntervals) {
  const std::vector few{standing(100, 110, 5), standing(200, 210, 5)};
  EXPECT_TRUE(certainly_slower({}, few).empty());
  const std::vector best_lacks_one{standing(100, 110, 5), standing(200, 210)};
  EXPECT_TRUE(certainly_slower({}, best_lacks_one).empty());
}

TEST(Races, AWrongCaseIsNotTheBest) {
  std::vector cases{standing(50, 51), standing(100, 110), standing(200, 210)};
  cases[0].right = false;
  EXPECT_EQ(certainly_slower({}, cases), (std::vector<std::size_t>{2}));
}

TEST(Races, AStoppedCaseIsStillTheOneToBeatAndIsNotStoppedTwice) {
  std::vector cases{standing(100, 110), standing(200, 210)};
  cases[1].stopped = true;
  EXPECT_TRUE(certainly_slower({}, cases).empty());
}

TEST(Races, WhoAsksForStepsGetsThem) {
  RunOptions options;
  options.steps = 100;
  EXPECT_TRUE(certainly_slower(options, std::vector{standing(100, 110), standing(200, 210)}).empty());
}

TEST(StopRule, AllAreKnownOrTheTimeIsUp) {
  const std::vector known{standing(99, 101), standing(198, 207)};
  const std::vector open{standing(99, 101), standing(180, 220)};
  EXPECT_TRUE(is_done({}, least_rounds, false, known));
  EXPECT_FALSE(is_done({}, least_rounds, false, {standing(98, 102), reversed(standing(98, 102))}));
  EXPECT_FALSE(is_done({}, least_rounds, false, open));
  EXPECT_TRUE(is_done({}, least_rounds, true, open));
  EXPECT_FALSE(is_done({}, least_rounds - 1, true, open));
  RunOptions with_budget;
  with_budget.budget = Seconds(10.0);
  EXPECT_TRUE(is_done(with_budget, least_rounds - 1, true, open));
}

TEST(StopRule, AnIntervalOfFewVisitsIsNone) { EXPECT_FALSE(is_done({}, 5, false, std::vector{standing(99, 101, 5)})); }

TEST(StopRule, AStoppedCaseNeedNotBeKnown) {
  std::vector cases{standing(99, 101), standing(180, 220)};
  cases[1].stopped = true;
  EXPECT_TRUE(is_done({}, least_rounds, false, cases));
}

TEST(StopRule, CountedStepsAreMadeByEveryCase) {
  RunOptions options;
  options.steps = 18;
  std::vector cases{standing(99, 101), standing(180, 220)};
  EXPECT_TRUE(is_done(options, 6, false, cases));
  cases[1] = standing(180, 220, 5);
  EXPECT_FALSE(is_done(options, 6, true, cases));
  options.budget = Seconds(10.0);
  EXPECT_TRUE(is_done(options, 6, true, cases));
}

/// The share of jobs of two cases, with the default budget, in whose end the second is statistically distinguishable. A
/// visit takes 0.3 s of a clock that the test keeps, and a round a third one for the twin.
double share_distinguished(const results::SimulatedMachine& machine, double factor, std::uint64_t jobs) {
  const RunOptions options;
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < jobs; ++seed) {
    results::SimulatedJob job(machine, seed);
    std::vector<Standing> cases(2);
    std::vector<std::vector<double>> samples(2);
    std::vector<std::vector<std::int64_t>> visits(2);
    double seconds = 0.0;
    std::int64_t rounds = 0;
    while (rounds == 0 || !is_done(options, rounds, 3.0 * options.seconds - seconds < 0.45, cases)) {
      job.next_round();
      for (const std::size_t c : order_of_turns(2, seed, rounds)) {
        if (cases[c].stopped) continue;
        const auto steps = job.visit(c == 1 ? factor : 1.0);
        samples[c].insert(samples[c].end(), steps.begin(), steps.end());
        visits[c].push_back(std::ssize(steps));
        cases[c].time = results::step_time(samples[c], visits[c]);
      }
      seconds += 0.9;
      ++rounds;
      for (const std::size_t c : certainly_slower(options, cases)) cases[c].stopped = true;
    }
    found += results::time_ratio(cases[1].time, cases[0].time).is_distinguishable() ? 1 : 0;
  }
  return static_cast<double>(found) / static_cast<double>(jobs);
}

TEST(DefaultBudget, FindsFivePercentOnAQuietMachineAndHalfAsMuchAgainOnASharedOne) {
  EXPECT_GE(share_distinguished(results::quiet_machine, 1.05, 500), 0.9);
  EXPECT_GE(share_distinguished(results::shared_machine, 1.5, 500), 0.9);
}

TEST(DefaultBudget, SeldomFindsADifferenceWhereThereIsNone) {
  for (const results::SimulatedMachine& machine : results::simulated_machines)
    EXPECT_LE(share_distinguished(machine, 1.0, 500), 0.07) << machine.name;  // 5 %, and two standard errors
}

/// Steps of several cases that do not differ, each 10 to a visit.
std::vector<results::StepTime> same_cases(std::size_t cases, std::int64_t rounds, std::uint64_t seed) {
  return results::simulated_times(results::drifting_machine, std::vector<double>(cases, 1.0), rounds, seed);
}

/// Looking after every round does not leave one out that is as fast as the others.
TEST(Races, CasesThatDoNotDifferStayInTheRace) {
  std::int64_t stopped = 0;
  constexpr std::int64_t tables = 100;
  for (std::uint64_t seed = 1; seed <= tables; ++seed) {
    const auto all = same_cases(4, 30, seed);
    std::set<std::size_t> slower;
    for (std::int64_t rounds = least_rounds; rounds <= 30; ++rounds) {
      std::vector<Standing> standings;
      for (const results::StepTime& each : all)
        standings.push_back({.time = results::step_time({each.samples.begin(), each.samples.begin() + 10 * rounds},
                                                        std::vector(rounds, std::int64_t{10}))});
      for (const std::size_t c : certainly_slower({}, standings)) slower.insert(c);
    }
    stopped += std::ssize(slower);
  }
  EXPECT_LE(static_cast<double>(stopped), 0.05 * 4 * tables);
}

/// A case that is half as slow again is left out although the times of both drift by more.
TEST(Races, DriftHidesNoDifference) {
  std::int64_t stopped = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    auto times = same_cases(2, 8, seed);
    for (double& sample : times[1].samples) sample *= 1.5;
    times[1] = results::step_time(times[1].samples, times[1].visits);
    stopped += certainly_slower({}, {{.time = times[0]}, {.time = times[1]}}).size() == 1 ? 1 : 0;
  }
  EXPECT_GE(stopped, 90);
}

/// The reference of one step takes two seconds, as with a large batch.
TEST(LastChecks, HaveAShareOfTheTime) {
  RunOptions options;
  EXPECT_EQ(steps_of_last_checks(options, 12, 2.0, 0.4), 2);  // --seconds 0.2, two cases
  EXPECT_EQ(steps_of_last_checks(options, 12, 2.0, 10.0), 5);
  EXPECT_EQ(steps_of_last_checks(options, 12, 2.0, 100.0), 12);  // no more than were timed
  EXPECT_EQ(steps_of_last_checks(options, 12, 0.0, 1.0), 12);
  options.budget = Seconds(60.0);
  EXPECT_EQ(steps_of_last_checks(options, 50, 2.0, 1000.0), 10);
  options.budget.reset();
  options.steps = 12;
  EXPECT_EQ(steps_of_last_checks(options, 12, 2.0, 1.0), 12);
}

/// By a clock that the test keeps: what is said to be left is what it takes, within a round.
TEST(TimeLeft, IsWhatItTakes) {
  constexpr double of_checks = 20.0;
  for (const double round_seconds : {0.3, 0.9, 4.0}) {
    RunOptions options;
    const double for_rounds = 2.0 * options.seconds;
    const double end = std::max(std::ceil(for_rounds / round_seconds), 6.0) * round_seconds + of_checks;
    for (std::int64_t rounds = 0; static_cast<double>(rounds) * round_seconds < for_rounds; ++rounds) {
      const double now = static_cast<double>(rounds) * round_seconds;
      EXPECT_NEAR(seconds_to_go(options, rounds, round_seconds, for_rounds - now, of_checks), end - now, round_seconds);
    }
    options.steps = 12;
    EXPECT_NEAR(seconds_to_go(options, 2, round_seconds, 0.0, of_checks), 4 * round_seconds + of_checks, 1e-9);
    options.steps.reset();
    options.budget = Seconds(60.0);
    EXPECT_NEAR(seconds_to_go(options, 2, round_seconds, 7.0, of_checks), 27.0, 1e-9);
  }
}

TEST(Rounds, OfCountedSteps) {
  EXPECT_EQ(rounds_of_steps(1), 1);
  EXPECT_EQ(rounds_of_steps(6), 6);
  EXPECT_EQ(rounds_of_steps(13), 5);
  EXPECT_EQ(rounds_of_steps(600), 6);
}

}  // namespace
}  // namespace shardmark::workloads
