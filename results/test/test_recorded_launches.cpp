// SPDX-License-Identifier: Apache-2.0
// False alarms and missed slowdowns of comparisons that are put together from recorded launches of one program: the
// noise of a shared virtual machine, with its outliers, its drift and its dependence between cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "results/comparison.hpp"
#include "results/test/launches.hpp"

namespace shardmark::results {
namespace {

constexpr unsigned seed = 20261121;
constexpr std::int64_t default_pairs = 24;  // of scripts/check-regression

/// Launches of shardmark-kernels, one commit, one after another: median microseconds of each case.
std::vector<Launch> recorded_launches() {
  std::ifstream file(SHARDMARK_TEST_DATA "/recorded_launches.json");
  const auto json = nlohmann::ordered_json::parse(file);
  std::vector<Launch> launches;
  for (const auto& times : json.at("median_us")) {
    Launch launch;
    for (std::size_t c = 0; c < times.size(); ++c)
      launch.cases.push_back({json.at("cases").at(c), times.at(c).get<double>() * 1e-3, ""});
    launches.push_back(launch);
  }
  return launches;
}

struct Sides {
  std::vector<Launch> old_launches, new_launches;
};

/// Neighbours drawn with replacement, and which of them is OLD: a comparison in which nothing differs.
Sides drawn_pairs(const std::vector<Launch>& launches, std::int64_t pairs, std::mt19937_64& random) {
  Sides sides;
  for (std::int64_t i = 0; i < pairs; ++i) {
    const std::size_t first = random() % (launches.size() - 1);
    const std::size_t flip = random() % 2;
    sides.old_launches.push_back(launches[first + flip]);
    sides.new_launches.push_back(launches[first + 1 - flip]);
  }
  return sides;
}

/// Standard deviation of the log ratio of neighbours, as noise_floor() estimates it.
double spread(const std::vector<Launch>& launches, std::size_t c) {
  std::vector<double> x;
  for (const Launch& launch : launches) x.push_back(std::log(launch.cases[c].median_ms));
  return *noise_floor(x, true, 1) / 2.0;
}

TEST(RecordedLaunches, AtMostFivePercentOfTablesHaveAFalseAlarm) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto launches = recorded_launches();
  ASSERT_GE(launches.at(0).cases.size(), 40U);
  constexpr int tables = 60;
  int alarms = 0;
  for (int table = 0; table < tables; ++table) {
    const Sides sides = drawn_pairs(launches, default_pairs, random);
    const auto cases = compare(sides.old_launches, sides.new_launches, launches, in_pairs);
    alarms += std::ranges::any_of(
        cases, [](auto& each) { return each.change == Change::worse || each.change == Change::better; });
  }
  EXPECT_LE(alarms, tables / 20);
}

/// With the default budget, in a table of all cases, where launches that follow one another differ by 3 % or less.
TEST(RecordedLaunches, FivePercentSlowerIsCalledWorse) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto launches = recorded_launches();
  int trials = 0, found = 0;
  for (std::size_t c = 0; c < launches[0].cases.size(); ++c) {
    if (spread(launches, c) > 0.03) continue;
    for (int trial = 0; trial < 4; ++trial) {
      Sides sides = drawn_pairs(launches, default_pairs, random);
      for (Launch& launch : sides.new_launches) launch.cases[c].median_ms *= 1.05;
      const auto cases = compare(sides.old_launches, sides.new_launches, launches, in_pairs);
      found += cases.at(c).change == Change::worse;
      ++trials;
    }
  }
  EXPECT_GE(trials, 60);
  EXPECT_GE(found, 0.95 * trials) << "of " << trials;
}

}  // namespace
}  // namespace shardmark::results
