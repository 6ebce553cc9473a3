// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "results/permutation_test.hpp"

namespace shardmark::results {
namespace {

using Values = std::vector<double>;

double paired_p(const Values& differences) { return paired_p_values({differences}).at(0); }
double unpaired_p(const Values& values, std::int64_t old_launches) {
  return unpaired_p_values({values}, old_launches).at(0);
}

TEST(PermutationTest, PairsCountedByHand) {
  EXPECT_DOUBLE_EQ(paired_p({1, 1, 1, 1, 1, 1}), 2.0 / 64);
  EXPECT_DOUBLE_EQ(paired_p({-1, -1, -1, -1, -1, -1}), 2.0 / 64);
  EXPECT_DOUBLE_EQ(paired_p({1, 1, 1, 1, 1, -1}), 14.0 / 64);  // |sum| >= 4: none or one sign apart
  EXPECT_DOUBLE_EQ(paired_p({1, 1, 1, -1, -1, -1}), 1.0);
  EXPECT_DOUBLE_EQ(paired_p({1}), 1.0);
  EXPECT_DOUBLE_EQ(paired_p({0, 0, 0, 0, 0, 0}), 1.0);
}

TEST(PermutationTest, ADisturbedPairCountsAsTheMedian) {
  EXPECT_DOUBLE_EQ(paired_p({1, 2, 3, 4, 5, 6, 7, -500}), paired_p({1, 2, 3, 4, 5, 6, 7, -7}));
  EXPECT_DOUBLE_EQ(paired_p({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -500}), 26.0 / 4096);  // none or one sign apart
}

/// U of a single case, two-sided: the exact values of the tables.
TEST(PermutationTest, WithoutPairsItIsTheExactUTest) {
  EXPECT_DOUBLE_EQ(unpaired_p({1, 2, 3, 4, 11, 12, 13, 14}, 4), 2.0 / 70);      // U = 0
  EXPECT_DOUBLE_EQ(unpaired_p({1, 2, 3, 11, 4, 12, 13, 14}, 4), 4.0 / 70);      // U = 1
  EXPECT_DOUBLE_EQ(unpaired_p({1, 2, 3, 4, 7, 5, 6, 8, 9, 10}, 5), 8.0 / 252);  // U = 2
  EXPECT_DOUBLE_EQ(unpaired_p({9, 10, 11, 12, 1, 2, 3}, 4), 2.0 / 35);          // 4 and 3
  EXPECT_DOUBLE_EQ(unpaired_p({5, 5, 5, 5, 5, 5, 5, 5}, 4), 1.0);
}

TEST(PermutationTest, TiesShareTheirRank) {
  // Of 4 and 4 in ranks 2 2 2 5.5 | 5.5 5.5 5.5 8: |mean difference| is reached by 1 x 4 x 1 deals and their mirrors.
  EXPECT_DOUBLE_EQ(unpaired_p({1, 1, 1, 2, 2, 2, 2, 3}, 4), 8.0 / 70);
}

TEST(PermutationTest, ManyCasesCostOnlyAsFarAsTheyDiffer) {
  const Values all_up{1, 1, 1, 1, 1, 1}, mixed{1, -1, 1, -1, 1, -1};
  EXPECT_EQ(paired_p_values({all_up, all_up, all_up}), Values(3, 2.0 / 64));
  EXPECT_DOUBLE_EQ(paired_p_values({all_up, mixed}).at(0), 4.0 / 64);  // as large in 2 patterns of each
  EXPECT_DOUBLE_EQ(paired_p_values({all_up, mixed}).at(1), 1.0);
  EXPECT_TRUE(paired_p_values({}).empty());
  EXPECT_TRUE(unpaired_p_values({}, 4).empty());
}

/// Whether enumerated (15 pairs, 8 + 8 launches) or drawn (16, 12 + 12): a false alarm in at most 5 % of whole tables.
TEST(PermutationTest, FalseAlarmsOfAWholeTable) {
  constexpr unsigned seed = 11;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  constexpr int trials = 100;
  constexpr int cases = 10;
  for (const std::size_t n : {std::size_t{8}, std::size_t{16}}) {
    int paired = 0, unpaired = 0;
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<Values> differences(cases, Values(n)), values(cases, Values(2 * n - 4));
      for (auto* table : {&differences, &values})
        for (Values& each : *table)
          for (double& x : each) x = normal(random) * (random() % 8 == 0 ? 10.0 : 1.0);
      const auto any = [](const Values& p) { return *std::ranges::min_element(p) <= 0.05; };
      paired += any(paired_p_values(differences));
      unpaired += any(unpaired_p_values(values, static_cast<std::int64_t>(n)));
    }
    EXPECT_LE(paired, 12) << n;  // of 100 at 5 %: exceeded with a probability of 0.1 %
    EXPECT_LE(unpaired, 12) << n;
  }
}

}  // namespace
}  // namespace shardmark::results
