// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "reference/optimizer_step.hpp"

namespace shardmark::reference {
namespace {

using Floats = std::vector<float>;

struct Row {
  Floats values, state;
  bool operator==(const Row&) const = default;
};

Row stepped(const Optimizer& optimizer, Row row, const std::vector<double>& gradient, std::int64_t t = 1) {
  optimizer_step<float>(optimizer, t, row.values, row.state, gradient);
  return row;
}

void expect_near(const Row& actual, const Row& expected) {
  for (std::size_t i = 0; i < expected.values.size(); ++i)
    EXPECT_NEAR(actual.values.at(i), expected.values[i], 1e-7) << i;
  for (std::size_t i = 0; i < expected.state.size(); ++i)
    EXPECT_NEAR(actual.state.at(i), expected.state[i], 1e-6) << "state " << i;
}

TEST(OptimizerStep, Sgd) {
  const Optimizer sgd{.kind = OptimizerKind::sgd, .learning_rate = 0.5F};
  EXPECT_EQ(stepped(sgd, {{1, -2, 7}, {}}, {4, 1, 0}), (Row{{-1, -2.5F, 7}, {}}));
}

TEST(OptimizerStep, SgdRoundsOnce) {
  // 1 - 0.01F * 1 lies between two floats; fp32 rounds the product first, double does not.
  const Optimizer sgd{.kind = OptimizerKind::sgd, .learning_rate = 0.01F};
  EXPECT_EQ(stepped(sgd, {{1}, {}}, {1}).values[0], static_cast<float>(1.0 - static_cast<double>(0.01F)));
}

// The root of the sum of squares, epsilon added outside of it: 3 / (sqrt 9 + 3) and 4 / (sqrt(9 + 16) + 3).
TEST(OptimizerStep, AdagradByElement) {
  const Optimizer adagrad{.kind = OptimizerKind::adagrad, .learning_rate = 0.5F, .epsilon = 3.0F};
  EXPECT_EQ(stepped(adagrad, {{1, 1, 5}, {0, 9, 4}}, {3, -4, 0}), (Row{{0.75F, 1.25F, 5}, {9, 25, 4}}));
}

// mean(1, 49) = 25 for both: sqrt 25 + 3 = 8; from 119: sqrt 144 + 4 = 16.
TEST(OptimizerStep, RowwiseAdagradByTheMeanSquareOfTheRow) {
  Optimizer rowwise{.kind = OptimizerKind::rowwise_adagrad, .learning_rate = 4.0F, .epsilon = 3.0F};
  EXPECT_EQ(stepped(rowwise, {{1, 1}, {0}}, {1, -7}), (Row{{0.5F, 4.5F}, {25}}));
  rowwise = {.kind = OptimizerKind::rowwise_adagrad, .learning_rate = 8.0F, .epsilon = 4.0F};
  EXPECT_EQ(stepped(rowwise, {{1, 1}, {119}}, {1, -7}), (Row{{0.5F, 4.5F}, {144}}));
}

TEST(OptimizerStep, StateGrowsFromStepToStep) {
  const Optimizer adagrad{.kind = OptimizerKind::adagrad, .learning_rate = 1.0F, .epsilon = 0.0F};
  Row row = stepped(adagrad, {{0}, {0}}, {3});
  EXPECT_EQ(row, (Row{{-1}, {9}}));
  row = stepped(adagrad, row, {4});
  EXPECT_EQ(row, (Row{{-1.8F}, {25}}));
}

TEST(OptimizerStep, MomentumGoesOn) {
  const Optimizer momentum{.kind = OptimizerKind::momentum, .learning_rate = 0.5F, .momentum = 0.5F};
  Row row = stepped(momentum, {{1}, {0}}, {2});
  EXPECT_EQ(row, (Row{{0}, {-1}}));
  row = stepped(momentum, row, {-2}, 2);  // -1/2 + 1
  EXPECT_EQ(row, (Row{{0.5F}, {0.5F}}));
  row = stepped(momentum, row, {0}, 3);
  EXPECT_EQ(row, (Row{{0.75F}, {0.25F}}));
}

// -1 + 0.5 (-1 - 0), then 0.5 + 0.5 (0.5 + 1).
TEST(OptimizerStep, NesterovLooksAhead) {
  const Optimizer nesterov{.kind = OptimizerKind::nesterov, .learning_rate = 0.5F, .momentum = 0.5F};
  Row row = stepped(nesterov, {{1}, {0}}, {2});
  EXPECT_EQ(row, (Row{{-0.5F}, {-1}}));
  row = stepped(nesterov, row, {-2}, 2);
  EXPECT_EQ(row, (Row{{0.75F}, {0.5F}}));
}

// v = 0.25 * 4, step 0.5 * 2 / (1 + 3); v = 0.75 * 12 + 0.25 * 64, step 0.5 * 8 / (5 + 3).
TEST(OptimizerStep, RmspropByTheMovingMeanSquare) {
  const Optimizer rmsprop{.kind = OptimizerKind::rmsprop, .learning_rate = 0.5F, .epsilon = 3.0F, .decay = 0.75F};
  EXPECT_EQ(stepped(rmsprop, {{1, 1}, {0, 12}}, {2, 8}), (Row{{0.75F, 0.5F}, {1, 25}}));
}

Optimizer adam_like(OptimizerKind kind, float eps) {
  return {.kind = kind, .learning_rate = 1.0F, .epsilon = eps, .beta1 = 0.5F, .beta2 = 0.75F};
}

// Step 1: m = 1, m^ = 1 / 0.5; v = 1, v^ = 1 / 0.25; 2 / (2 + 2). Step 2: v = 1.75, v^ = 1.75 / (7/16) = 4 in both
// columns; m = 1.5 or -0.5, m^ = 2 or -2/3.
TEST(OptimizerStep, AdamCorrectsItsMeansByTheStepNumber) {
  const Optimizer adam = adam_like(OptimizerKind::adam, 2.0F);
  Row row = stepped(adam, {{1, 1}, {0, 0, 0, 0}}, {2, 2});
  EXPECT_EQ(row, (Row{{0.5F, 0.5F}, {1, 1, 1, 1}}));
  row = stepped(adam, row, {2, -2}, 2);
  EXPECT_EQ(row, (Row{{0, 0.5F + 1.0F / 6}, {1.5F, -0.5F, 1.75F, 1.75F}}));
}

// v = 0.25 mean(1, 49), v^ = 25 in both steps; m^ = g.
TEST(OptimizerStep, RowwiseAdamHasOneMeanSquareForTheRow) {
  const Optimizer adam = adam_like(OptimizerKind::rowwise_adam, 3.0F);
  Row row = stepped(adam, {{1, 1}, {0, 0, 0}}, {1, -7});
  EXPECT_EQ(row, (Row{{0.875F, 1.875F}, {0.5F, -3.5F, 6.25F}}));
  row = stepped(adam, row, {1, -7}, 2);
  EXPECT_EQ(row, (Row{{0.75F, 2.75F}, {0.75F, -5.25F, 10.9375F}}));
}

// e under the roots makes sqrt 0 a 2^-11.5 = 0.00034526698.
// Column 0: s = (2 - 0.00034527) / 0.5, z = 2 - s, w = (-1 - z) / ((1 + 2) / 0.5 + 2).
// Column 1, from 0: z = 2, w = (1 - 2) / 8. Column 2: z = 0.5 stays below l1. Column 3: n 9 to 25, z = 3 + 4 + 4 * 2.
TEST(OptimizerStep, FtrlFollowsItsLeader) {
  const Optimizer ftrl{.kind = OptimizerKind::ftrl, .learning_rate = 0.5F, .l1 = 1.0F, .l2 = 2.0F, .beta = 1.0F};
  expect_near(stepped(ftrl, {{1, 0, 0, -2}, {0, 0, 0, 9, 0, 0, 0, 3}}, {2, 2, 0.5, 4}),
              {{0.12491368F, -0.125F, 0, -1.0F}, {4, 4, 0.25F, 25, -1.9993095F, 2, 0.5F, 15}});
}

// b1 = b2 = 0 and eps = 0: r = sign(g), |r| = 2, |w| = 4.
TEST(OptimizerStep, LambScalesToTheNormOfTheRow) {
  Optimizer lamb{.kind = OptimizerKind::lamb, .learning_rate = 0.25F, .epsilon = 0.0F, .beta1 = 0.0F, .beta2 = 0.0F};
  const Floats state(8, 0.0F), after{3, -5, 2, 7, 9, 25, 4, 49};
  const std::vector<double> gradient{3, -5, 2, 7};
  EXPECT_EQ(stepped(lamb, {{2, 2, 2, 2}, state}, gradient), (Row{{1.5F, 2.5F, 1.5F, 1.5F}, after}));
  EXPECT_EQ(stepped(lamb, {{0, 0, 0, 0}, state}, gradient), (Row{{-0.25F, 0.25F, -0.25F, -0.25F}, after}));
  lamb.weight_decay = 0.5F;  // r = {-1 + 4 / 2, 1, -1, 1}
  lamb.weight_decay_mode = WeightDecay::decoupled;
  EXPECT_EQ(stepped(lamb, {{4, 0, 0, 0}, state}, {-3, 5, -2, 7}).values, (Floats{3.5F, -0.5F, 0.5F, -0.5F}));
}

TEST(OptimizerStep, LambCorrectsItsMeans) {
  Optimizer lamb = adam_like(OptimizerKind::lamb, 2.0F);  // r = 0.5 as in adam's literal, so |w| / |r| r = |w|
  Row row = stepped(lamb, {{1}, {0, 0}}, {2});
  EXPECT_EQ(row, (Row{{0}, {1, 1}}));
}

TEST(OptimizerStep, WeightDecay) {
  const Optimizer sgd{.learning_rate = 0.5F, .weight_decay = 0.5F, .weight_decay_mode = WeightDecay::decoupled};
  EXPECT_EQ(stepped(sgd, {{2}, {}}, {3}), (Row{{0}, {}}));  // 2 - 0.5 * 3 - 0.5 * 0.5 * 2
  Optimizer adagrad{.kind = OptimizerKind::adagrad, .learning_rate = 1.0F, .epsilon = 0.0F, .weight_decay = 0.5F};
  EXPECT_EQ(stepped(adagrad, {{2}, {0}}, {3}), (Row{{1}, {16}}));  // 3 + 0.5 * 2
  adagrad.weight_decay_mode = WeightDecay::decoupled;
  EXPECT_EQ(stepped(adagrad, {{2}, {0}}, {3}), (Row{{0}, {9}}));  // 2 - 1 - 0.5 * 2
  // mean of (1 + 2)^2 and (-1 - 2)^2; mean of 1 and 1
  Optimizer rowwise{.kind = OptimizerKind::rowwise_adagrad, .learning_rate = 1.0F, .epsilon = 0.0F};
  rowwise.weight_decay = 0.5F;
  EXPECT_EQ(stepped(rowwise, {{4, -4}, {0}}, {1, -1}), (Row{{3, -3}, {9}}));
  rowwise.weight_decay_mode = WeightDecay::decoupled;
  EXPECT_EQ(stepped(rowwise, {{4, -4}, {0}}, {1, -1}), (Row{{1, -1}, {1}}));
}

TEST(OptimizerStep, WeightDecayReachesEveryOptimizerButNone) {
  for (const auto& choice : optimizers)
    for (const auto mode : {WeightDecay::l2, WeightDecay::decoupled}) {
      Optimizer optimizer{.kind = choice.value};
      const Row row{{1, -2}, Floats(static_cast<std::size_t>(state_per_row(choice.value, 2)), 0.5F)};
      const Row without = stepped(optimizer, row, {1, 3});
      optimizer.weight_decay = 0.25F;
      optimizer.weight_decay_mode = mode;
      const Row with = stepped(optimizer, row, {1, 3});
      EXPECT_EQ(with == without, choice.value == OptimizerKind::none) << choice.name;
      EXPECT_TRUE(mode == WeightDecay::l2 || with.state == without.state) << choice.name;
    }
}

TEST(OptimizerStep, ManyStepsStayFinite) {
  for (const auto& choice : optimizers) {
    Row row{{1, -2, 0}, Floats(static_cast<std::size_t>(state_per_row(choice.value, 3)), 0.0F)};
    for (std::int64_t t = 1; t <= 200; ++t) {
      row = stepped({.kind = choice.value}, row, {static_cast<double>(t % 3 - 1), 0.5 * static_cast<double>(t % 2), 0},
                    t);
      for (const float x : row.values) ASSERT_TRUE(std::abs(x) < 100) << choice.name << ", step " << t << ": " << x;
      for (const float x : row.state) ASSERT_TRUE(std::isfinite(x)) << choice.name << ", step " << t << ": " << x;
    }
  }
}

TEST(OptimizerStep, NoneAndNoGradientChangeNothing) {
  for (const auto& choice : optimizers) {
    if (choice.value == OptimizerKind::ftrl) continue;  // w follows from z
    const Row row{{1, -2}, Floats(static_cast<std::size_t>(state_per_row(choice.value, 2)), 0.0F)};
    EXPECT_EQ(stepped({.kind = choice.value}, row, {0, 0}), row) << choice.name;
  }
  EXPECT_EQ(stepped({.kind = OptimizerKind::none}, {{1, -2}, {}}, {3, 4}), (Row{{1, -2}, {}}));
}

}  // namespace
}  // namespace shardmark::reference
