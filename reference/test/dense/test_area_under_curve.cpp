// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "reference/dense/loss.hpp"
#include "reference/error.hpp"

namespace shardmark::reference {
namespace {

using Scores = std::vector<float>;

/// The definition: pairs of a positive and a negative that are in order, ties half.
double by_pairs(const Scores& scores, const Scores& labels) {
  double ordered = 0.0, pairs = 0.0;
  for (std::size_t p = 0; p < scores.size(); ++p)
    for (std::size_t n = 0; n < scores.size(); ++n) {
      if (labels[p] == 0.0F || labels[n] == 1.0F) continue;
      ordered += scores[p] > scores[n] ? 1.0 : scores[p] == scores[n] ? 0.5 : 0.0;
      pairs += 1.0;
    }
  return ordered / pairs;
}

TEST(AreaUnderCurve, ByHand) {
  EXPECT_EQ(area_under_curve(Scores{0.1F, 0.4F, 0.35F, 0.8F}, Scores{0, 0, 1, 1}), 0.75);  // scikit-learn's example
  EXPECT_EQ(area_under_curve(Scores{-1, 2}, Scores{0, 1}), 1.0);
  EXPECT_EQ(area_under_curve(Scores{-1, 2}, Scores{1, 0}), 0.0);
  EXPECT_EQ(area_under_curve(Scores{3, 3, 3}, Scores{1, 0, 1}), 0.5);
  EXPECT_EQ(area_under_curve(Scores{1, 1, 0}, Scores{1, 0, 0}), 0.75);
  EXPECT_EQ(area_under_curve(Scores{0.0F, -0.0F}, Scores{1, 0}), 0.5);
}

TEST(AreaUnderCurve, IsTheShareOfOrderedPairs) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    const std::size_t n = 2 + random() % 150;
    const auto distinct = static_cast<std::uint32_t>(1 + random() % 40);
    Scores scores(n), labels(n);
    for (std::size_t i = 0; i < n; ++i) {
      labels[i] = random() % 3 == 0 ? 1.0F : 0.0F;
      scores[i] = static_cast<float>(random() % distinct) - 7.0F * (1.0F - labels[i]);
    }
    labels[0] = 1.0F;
    labels[1] = 0.0F;
    const auto area = area_under_curve(scores, labels);
    ASSERT_TRUE(area) << "seed " << seed;
    EXPECT_DOUBLE_EQ(*area, by_pairs(scores, labels)) << "seed " << seed;
    for (float& score : scores) score = 2.0F * score + 1.0F;  // only the order counts
    EXPECT_EQ(area_under_curve(scores, labels), area) << "seed " << seed;
  }
}

TEST(AreaUnderCurve, LargeCountsDoNotOverflow) {
  const std::size_t n = 200'000;  // 2 P N = 2e10 beyond 32 bits
  Scores scores(n), labels(n);
  for (std::size_t i = 0; i < n; ++i) {
    scores[i] = static_cast<float>(i);
    labels[i] = i >= n / 2 ? 1.0F : 0.0F;
  }
  EXPECT_EQ(area_under_curve(scores, labels), 1.0);
}

TEST(AreaUnderCurve, IsNotDefinedForOneClass) {
  EXPECT_EQ(area_under_curve(Scores{1, 2}, Scores{1, 1}), std::nullopt);
  EXPECT_EQ(area_under_curve(Scores{1, 2}, Scores{0, 0}), std::nullopt);
  EXPECT_EQ(area_under_curve(Scores{}, Scores{}), std::nullopt);
}

TEST(AreaUnderCurve, RefusesWhatIsNoScoreOrLabel) {
  const auto refused = [](const Scores& scores, const Scores& labels) -> std::string {
    try {
      area_under_curve(scores, labels);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refused({1}, {1, 0}), "AUC: 1 scores, 2 labels");
  EXPECT_EQ(refused({1, std::numeric_limits<float>::quiet_NaN()}, {1, 0}), "AUC: the score of sample 1 is no number");
  EXPECT_EQ(refused({1, 2}, {0.5F, 0}), "AUC: the label of sample 0 is 0.500000, must be 0 or 1");
  EXPECT_EQ(refused({std::numeric_limits<float>::infinity(), 2}, {1, 0}), "");
}

}  // namespace
}  // namespace shardmark::reference
