// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include "results/prediction_quality.hpp"

namespace shardmark::results {
namespace {

TEST(PredictionQuality, IsThatOfTheDefinition) {
  // Errors: 10 / 100, 40 / 200, -30 / 300. Ranks 1 3 2 beside 1 2 3: rho = 1 - 6 (0 + 1 + 1) / (3 x 8) = 1 / 2.
  const std::vector<PredictedTime> times{{110, 100}, {240, 200}, {270, 300}};
  std::vector<PredictedTime> turned = times;
  turned[1].predicted = 280;  // now the ranks differ
  EXPECT_NEAR(prediction_quality(times).mean_error, 0.4 / 3.0, 1e-15);
  EXPECT_EQ(prediction_quality(times).rank_correlation, 1.0);
  EXPECT_EQ(prediction_quality(times).regret, 0.0);
  EXPECT_NEAR(*prediction_quality(turned).rank_correlation, 0.5, 1e-15);
  EXPECT_NEAR(times[2].error(), -0.1, 1e-15);
}

TEST(PredictionQuality, RegretIsOfTheCaseThatWasLikedBest) {
  const PredictionQuality quality = prediction_quality(std::vector<PredictedTime>{{5, 4}, {3, 5}, {4, 8}});
  EXPECT_EQ(quality.liked, 1U);
  EXPECT_EQ(quality.regret, 0.25);
}

TEST(PredictionQuality, ErrorsAreWithinAShareOverAndUnder) {
  const std::vector<PredictedTime> times{{125, 100}, {75, 100}, {126, 100}, {74, 100}};
  EXPECT_EQ(share_within(times, 0.25), 0.5);
}

TEST(PredictionQuality, TheSignIsRightWhereTheSameOfTwoTakesLonger) {
  EXPECT_TRUE(same_order({9, 5}, {8, 4}));
  EXPECT_FALSE(same_order({8, 5}, {9, 4}));
  EXPECT_FALSE(same_order({8, 5}, {8, 4}));
  EXPECT_TRUE(same_order({8, 5}, {8, 5}));
}

/// A model that cannot tell cases apart is not rewarded for the luck of their order.
TEST(PredictionQuality, AmongEqualPredictionsTheSlowestCaseCounts) {
  for (const auto& times : {std::vector<PredictedTime>{{3, 4}, {3, 5}, {9, 9}}, {{3, 5}, {3, 4}, {9, 9}}})
    EXPECT_EQ(prediction_quality(times).regret, 0.25);
}

/// Three planners found the plan of 3: 5, 4 and 6 are times of one step, 5.
TEST(PredictionQuality, CasesOfOneStepHaveNoOrderAmongThemselves) {
  const std::vector<PredictedTime> times{{3, 5, "a"}, {3, 4, "a"}, {4, 5.5, "b"}, {3, 6, "a"}, {9, 9, ""}, {8, 8, ""}};
  const PredictionQuality quality = prediction_quality(times);
  EXPECT_EQ(quality.rank_correlation, 1.0);
  EXPECT_EQ(quality.liked, 0U);
  EXPECT_EQ(quality.regret, 0.0);
  EXPECT_NEAR(quality.mean_error, (0.4 + 0.25 + 1.5 / 5.5 + 0.5) / 6, 1e-15);
  std::vector<PredictedTime> apart = times;
  for (PredictedTime& time : apart) time.step.clear();
  EXPECT_LT(prediction_quality(apart).rank_correlation, 1.0);
  EXPECT_EQ(prediction_quality(apart).regret, 0.5);
}

TEST(PredictionQuality, OneCaseHasNoRanks) {
  const PredictionQuality quality = prediction_quality(std::vector<PredictedTime>{{3, 4}});
  EXPECT_EQ(quality.mean_error, 0.25);
  EXPECT_EQ(quality.rank_correlation, std::nullopt);
  EXPECT_EQ(quality.regret, 0.0);
}

TEST(PredictionQuality, WantsPositiveTimes) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  EXPECT_THROW(prediction_quality({}), std::invalid_argument);
  for (const PredictedTime& bad : {PredictedTime{1, 0}, PredictedTime{0, 1}, PredictedTime{infinite, 1}})
    EXPECT_THROW(prediction_quality(std::vector{bad}), std::invalid_argument);
}

TEST(RankCorrelation, EqualValuesShareTheirRanks) {
  EXPECT_EQ(mean_ranks(std::vector<double>{7, 3, 7, 1, 7}), (std::vector<double>{4, 2, 4, 1, 4}));
  // Ranks 1, 2.5, 2.5, 4 beside 1, 2, 3, 4: 4.5 / sqrt(4.5 x 5).
  const std::vector<double> a{10, 20, 20, 30}, b{1, 2, 3, 4}, equal{5, 5, 5, 5};
  EXPECT_NEAR(*rank_correlation(a, b), 4.5 / std::sqrt(22.5), 1e-15);
  EXPECT_EQ(rank_correlation(a, equal), std::nullopt);
  EXPECT_THROW(rank_correlation(a, std::vector<double>{1}), std::invalid_argument);
}

TEST(RankCorrelation, DependsOnTheOrderAlone) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    std::vector<double> a, b, c, back;
    for (int i = 0; i < 20; ++i) {
      a.push_back(1.0 + static_cast<double>(random() % 12));
      b.push_back(1.0 + static_cast<double>(random() % 12));
      c.push_back(b.back() * b.back() * b.back());
      back.push_back(-b.back());
    }
    EXPECT_EQ(rank_correlation(a, b), rank_correlation(a, c));
    EXPECT_NEAR(*rank_correlation(a, b), -*rank_correlation(a, back), 1e-12);
    EXPECT_NEAR(*rank_correlation(a, a), 1.0, 1e-12);
  }
}

}  // namespace
}  // namespace shardmark::results
