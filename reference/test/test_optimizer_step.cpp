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

Row stepped(const Optimizer& optimizer, Row row, const std::vector<double>& gradient) {
  optimizer_step<float>(optimizer, row.values, row.state, gradient);
  return row;
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

TEST(OptimizerStep, NoGradientChangesNothing) {
  for (const auto& choice : optimizers) {
    const Optimizer optimizer{.kind = choice.value};
    const Row row{{1, -2}, Floats(static_cast<std::size_t>(state_per_row(choice.value, 2)), 0.0F)};
    EXPECT_EQ(stepped(optimizer, row, {0, 0}), row) << choice.name;
  }
}

TEST(OptimizerStep, StepSizeIsWhatIsTakenOff) {
  EXPECT_EQ(step_size({.kind = OptimizerKind::sgd, .learning_rate = 0.5F}, 3.0, 100.0), 1.5);
  EXPECT_EQ(step_size({.kind = OptimizerKind::adagrad, .learning_rate = 0.5F, .epsilon = 3.0F}, 3.0, 9.0), 0.25);
}

}  // namespace
}  // namespace shardmark::reference
