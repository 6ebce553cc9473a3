// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "reference/error.hpp"
#include "results/comparability.hpp"
#include "results/comparison.hpp"
#include "results/test/launches.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

const std::vector<double> steady{10.00, 10.01, 9.99, 10.02, 9.98, 10.00, 10.01, 9.99};
const std::vector<double> noisy{10.0, 11.5, 9.0, 12.0, 10.2, 8.8, 11.0, 9.5};

std::vector<double> times(const std::vector<double>& milliseconds, double factor) {
  std::vector<double> product;
  for (const double ms : milliseconds) product.push_back(ms * factor);
  return product;
}

CaseComparison compared(const std::vector<double>& old_ms, const std::vector<double>& new_ms,
                        const ComparisonOptions& options = {}) {
  const auto cases = compare(launches_of(old_ms), launches_of(new_ms, "new"), {}, options);
  EXPECT_EQ(cases.size(), 1U);
  return cases.at(0);
}

TEST(Comparison, SlowerAndFasterBeyondTheMargin) {
  for (const ComparisonOptions& options : {ComparisonOptions{}, in_pairs}) {
    const CaseComparison worse = compared(steady, times(steady, 1.05), options);
    EXPECT_EQ(worse.change, Change::worse);
    EXPECT_NEAR(worse.ratio, 1.05, 0.002);
    EXPECT_NEAR(worse.old_ms, 10.0, 0.01);
    EXPECT_NEAR(worse.new_ms, 10.5, 0.01);
    EXPECT_LE(worse.p, 0.05);
    EXPECT_EQ(compared(steady, times(steady, 0.95), options).change, Change::better);
  }
}

TEST(Comparison, ASmallEffectIsTheSameHoweverSignificant) {
  const CaseComparison result = compared(steady, times(steady, 1.02));
  EXPECT_LE(result.p, 0.05);
  EXPECT_EQ(result.change, Change::same);
  EXPECT_EQ(compared(steady, times(steady, 1.02), {.min_effect = 0.01}).change, Change::worse);
}

TEST(Comparison, SameMustBeEarned) {
  EXPECT_EQ(compared(steady, steady).change, Change::same);
  const CaseComparison result = compared(noisy, {10.3, 11.0, 9.4, 11.6, 10.0, 9.2, 10.6, 9.9}, in_pairs);
  EXPECT_GT(result.p, 0.05);
  EXPECT_EQ(result.change, Change::unclear);
  EXPECT_TRUE(result.advice.starts_with("run ")) << result.advice;
}

TEST(Comparison, FewLaunchesNeverDecide) {
  for (const std::size_t n : {1, 3}) {
    const std::vector<double> few(steady.begin(), steady.begin() + static_cast<std::ptrdiff_t>(n));
    for (const double factor : {1.0, 1.5}) {
      const CaseComparison result = compared(few, times(few, factor));
      EXPECT_EQ(result.change, Change::unclear);
      EXPECT_EQ(result.advice, "too few launches; run at least 4 of each");
    }
  }
  const std::vector<double> five(steady.begin(), steady.begin() + 5);
  EXPECT_EQ(compared(five, times(five, 1.5), in_pairs).advice, "too few launches; run at least 6 of each");
  EXPECT_EQ(compared(five, times(five, 1.5)).change, Change::worse);
}

TEST(Comparison, PairsTakeOutTheDrift) {
  std::vector<double> drifting;
  for (const double ms : steady) drifting.push_back(ms * (1.0 + 0.05 * static_cast<double>(drifting.size())));
  EXPECT_EQ(compared(drifting, times(drifting, 1.05), in_pairs).change, Change::worse);
  EXPECT_EQ(compared(drifting, times(drifting, 1.05)).change, Change::unclear);
}

TEST(Comparison, AnEffectBelowTheNoiseFloorIsUnclear) {
  const auto cases = compare(launches_of(steady), launches_of(times(steady, 1.05), "new"), launches_of(noisy, "aa"),
                             {.min_effect = 0.03});
  EXPECT_LE(cases.at(0).p, 0.05);
  EXPECT_GT(*cases.at(0).floor, 0.05);
  EXPECT_EQ(cases.at(0).change, Change::unclear);
  EXPECT_EQ(cases.at(0).advice, "the noise floor hides the smallest effect; run OLD and NEW in turns (--paired)");
}

TEST(Comparison, NoiseFloorByHand) {
  const std::vector<double> x{0.0, 0.01, 0.03, 0.0};  // neighbours .01 .02 .03
  EXPECT_NEAR(*noise_floor(x, true, 16), 2 * 1.4826 * 0.02 / 4, 1e-12);
  EXPECT_NEAR(*noise_floor(x, false, 16), 2 * 1.4826 * 0.015, 1e-12);  // all 0 .01 .01 .02 .03 .03
  EXPECT_FALSE(noise_floor(std::vector{0.0, 0.1}, true, 16));
}

TEST(Comparison, CasesWithoutTimesOnOneSideAreMissing) {
  auto old_launches = launches_of(steady), new_launches = launches_of(steady, "new");
  old_launches[2].cases[0].name = "gone";
  new_launches[3].cases.push_back({"fresh", 1.0, ""});
  const auto cases = compare(old_launches, new_launches, {}, {});
  ASSERT_EQ(cases.size(), 3U);
  for (const CaseComparison& each : cases) EXPECT_EQ(each.change, Change::missing);
  EXPECT_EQ(cases[0].advice, "not in OLD (old/3); run it there");
  EXPECT_EQ(cases[1].name, "gone");
  EXPECT_EQ(cases[2].advice, "not in OLD (old/1); run it there");
}

TEST(Comparison, AnErrorInNewAloneIsWorse) {
  auto old_launches = launches_of(steady), new_launches = launches_of(steady, "new");
  new_launches[7].cases[0].error = "7 wrong values";
  EXPECT_EQ(compare(old_launches, new_launches, {}, {}).at(0).change, Change::worse);
  EXPECT_EQ(compare(old_launches, new_launches, {}, {}).at(0).advice, "NEW (new/8): 7 wrong values");
  old_launches[0].cases[0].error = "too little memory";
  EXPECT_EQ(compare(old_launches, new_launches, {}, {}).at(0).change, Change::missing);
  EXPECT_EQ(compare(old_launches, new_launches, {}, {}).at(0).advice, "OLD (old/1): too little memory");
}

TEST(Comparison, PairsWantAsManyOfEach) {
  EXPECT_EQ(input_error([&] { compared(steady, {10.0}, in_pairs); }),
            "--paired with 8 launches of OLD and 1 of NEW; name as many of each");
}

TEST(Comparability, WhatDiffersIsNamedOnceForEachKeyAndSide) {
  const auto old_launches = launches_of({1.0, 1.0});
  auto new_launches = launches_of({1.0, 1.0, 1.0}, "new");
  EXPECT_TRUE(disagreements(old_launches, new_launches, {}).empty());
  for (Launch& launch : new_launches) launch.context[1].second = "-O2";
  new_launches[2].context[0].second = "node2";
  const auto found = disagreements(old_launches, new_launches, {});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].text, "host_name differs: 'node1' in old/1, 'node2' in new/3");
  EXPECT_EQ(found[1].key, "flags");
  EXPECT_EQ(found[1].text, "flags differs: '-O3' in old/1, '-O2' in new/1");
}

TEST(Comparability, KeysThatOneFileLacksAreNotCompared) {
  auto new_launches = launches_of({1.0}, "new");
  new_launches[0].context = {{"host_name", "node1"}, {"seed", "3"}};
  EXPECT_TRUE(disagreements(launches_of({1.0}), new_launches, {}).empty());
}

TEST(Comparability, OptionsOfCasesOfOneNameAreCompared) {
  auto old_launches = launches_of({1.0});
  auto new_launches = launches_of({1.0, 1.0}, "new");
  old_launches[0].cases[0].options = {{"dim", "16"}, {"hotness", "1"}};
  for (Launch& launch : new_launches) launch.cases[0].options = {{"dim", "64"}, {"dtype", "fp16"}, {"hotness", "1"}};
  const auto found = disagreements(old_launches, new_launches, new_launches);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].key, "dim");
  EXPECT_EQ(found[0].text, "dim of a differs: '16' in old/1, '64' in new/1");
  for (Launch& launch : new_launches) launch.cases[0].name = "b";
  EXPECT_TRUE(disagreements(old_launches, new_launches, {}).empty());
}

TEST(Comparability, LaunchesOfASideAreOfOneCommit) {
  auto launches = launches_of({1.0, 1.0});
  for (Launch& launch : launches) launch.revision = "abc";
  EXPECT_TRUE(disagreements(launches_of({1.0}), launches, {}).empty());
  launches[1].revision = "def";
  EXPECT_EQ(disagreements(launches_of({1.0}), launches_of({1.0}), launches).at(0).key, "revision");
}

TEST(Comparison, OfADisturbedLaunchIsUnclear) {
  const auto old_launches = launches_of({10.0, 10.1, 10.0, 10.1, 10.0, 10.1});
  auto new_launches = launches_of({20.0, 20.1, 20.0, 20.1, 20.0, 20.1}, "new");
  const ComparisonOptions options{.paired = true};
  EXPECT_EQ(compare(old_launches, new_launches, {}, options)[0].change, Change::worse);
  new_launches[2].cases[0].disturbed = true;
  const auto result = compare(old_launches, new_launches, {}, options)[0];
  EXPECT_EQ(result.change, Change::unclear);
  EXPECT_EQ(result.advice, "NEW (new/3) was disturbed by other processes; measure it again");
}

/// Twenty per cent slower beyond a noise floor of as much: not worse, but a gate of 10 % is red.
TEST(Comparison, AGateCanBeRedWhateverTheNoise) {
  const auto old_launches = launches_of({10.0, 12.0, 9.0, 11.0, 10.0, 12.5, 9.5, 11.0});
  const auto new_launches = launches_of({12.1, 14.3, 11.0, 13.1, 12.0, 15.1, 11.5, 13.0}, "new");
  ComparisonOptions options;
  options.fail_above = 0.1;
  auto result = compare(old_launches, new_launches, {}, options)[0];
  EXPECT_EQ(result.change, Change::unclear);
  EXPECT_TRUE(result.fails);
  options.fail_above = 0.3;
  EXPECT_FALSE(compare(old_launches, new_launches, {}, options)[0].fails);
  options.fail_above = 0.1;
  EXPECT_FALSE(compare(old_launches, old_launches, {}, options)[0].fails);
  EXPECT_TRUE(compare(launches_of({1.0}), launches_of({1.2}, "new"), {}, options)[0].fails);
  options.fail_above.reset();
  EXPECT_FALSE(compare(launches_of({1.0}), launches_of({1.2}, "new"), {}, options)[0].fails);
}

TEST(Comparison, ABaselineKnowsItsNoise) {
  auto launches = launches_of({10.0, 10.5, 10.0, 10.5});
  for (Launch& launch : launches) launch.cases.push_back({"still", 3.0, ""});
  const auto floors = baseline_floors(launches);
  ASSERT_EQ(floors.size(), 2U);
  EXPECT_EQ(floors[0].name, "a");
  EXPECT_GT(*floors[0].unpaired, 0.03);
  EXPECT_LT(*floors[0].paired, *floors[0].unpaired * 2.0);
  EXPECT_EQ(*floors[1].unpaired, 0.0);
  EXPECT_TRUE(baseline_floors(launches_of({1.0, 2.0})).empty());
}

}  // namespace
}  // namespace shardmark::results
