// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/rounding.hpp"
#include "reference/row_quantization.hpp"
#include "reference/touched_table.hpp"

namespace shardmark::reference {
namespace {

constexpr std::int64_t trillion = 1'000'000'000'000;
const RowValues initial{.seed = 3};

Table huge(OptimizerKind kind) {
  return {.name = "huge", .rows = trillion, .dim = 4, .optimizer = {.kind = kind, .initial_accumulator = 0.25F}};
}

TEST(TouchedTable, HoldsOnlyTheRowsThatWereTouched) {
  TouchedTable table(huge(OptimizerKind::adagrad), 2, initial);
  EXPECT_EQ(table.find(0), -1);
  EXPECT_EQ(table.touch(trillion - 1), 0);
  EXPECT_EQ(table.touch(0), 1);
  EXPECT_EQ(table.touch(trillion - 1), 0);
  EXPECT_EQ(table.find(trillion - 1), 0);
  EXPECT_EQ(table.find(0), 1);
  EXPECT_EQ(table.find(1), -1);
  EXPECT_EQ(table.rows(), (std::vector<std::int64_t>{trillion - 1, 0}));
}

TEST(TouchedTable, StartsFromTheInitialValues) {
  TouchedTable table(huge(OptimizerKind::adagrad), 2, initial);
  for (const std::int64_t row : {trillion - 1, std::int64_t{7}, std::int64_t{0}}) {
    const std::int64_t slot = table.touch(row);
    for (std::int64_t c = 0; c < 4; ++c) {
      const auto at = static_cast<std::size_t>(c);
      EXPECT_EQ(table.values(slot)[at], initial(2, row, c));
      EXPECT_EQ(table.value_bounds(slot)[at], 0.0F);
      EXPECT_EQ(table.state(slot)[at], 0.25F);
      EXPECT_EQ(table.state_bounds(slot)[at], 0.0F);
    }
  }
}

TEST(TouchedTable, WhatIsWrittenStaysWhenOthersAreTouched) {
  TouchedTable table(huge(OptimizerKind::rowwise_adagrad), 0, initial);
  const std::int64_t slot = table.touch(5);
  table.values(slot)[3] = 42.0F;
  table.state(slot)[0] = 43.0F;
  table.value_bounds(slot)[3] = 44.0F;
  table.state_bounds(slot)[0] = 45.0F;
  for (std::int64_t row = 0; row < 1000; ++row) table.touch(row * 1'000'003);
  table.touch(5);
  EXPECT_EQ(table.values(slot)[3], 42.0F);
  EXPECT_EQ(table.state(slot)[0], 43.0F);
  EXPECT_EQ(table.value_bounds(slot)[3], 44.0F);
  EXPECT_EQ(table.state_bounds(slot)[0], 45.0F);
  EXPECT_EQ(table.values(slot + 1)[3], initial(0, 0, 3));
}

TEST(TouchedTable, StateFollowsTheOptimizer) {
  EXPECT_EQ(TouchedTable(huge(OptimizerKind::sgd), 0, initial).state_size(), 0);
  EXPECT_EQ(TouchedTable(huge(OptimizerKind::adagrad), 0, initial).state_size(), 4);
  TouchedTable table(huge(OptimizerKind::rowwise_adagrad), 0, initial);
  EXPECT_EQ(table.state_size(), 1);
  EXPECT_EQ(table.state(table.touch(9)).size(), 1U);
  TouchedTable without(huge(OptimizerKind::sgd), 0, initial);
  EXPECT_TRUE(without.state(without.touch(9)).empty());
}

TEST(TouchedTable, StartsFromTheValuesThatItsTypeStores) {
  for (const auto& type : value_types) {
    TouchedTable table({.name = "A", .rows = 9, .dim = 40, .value_type = type.value}, 1, initial);
    const std::int64_t slot = table.touch(7);
    std::vector<float> row;
    for (std::int64_t c = 0; c < 40; ++c) row.push_back(initial(1, 7, c));
    const RowScale scale = row_scale(row);
    for (std::size_t c = 0; c < 40; ++c) {
      const bool bytes = type.value == ValueType::int8;
      EXPECT_EQ(table.values(slot)[c], bytes ? scale.value(scale.quantized(row[c])) : rounded_to(type.value, row[c]));
      EXPECT_EQ(table.value_bounds(slot)[c] > 0.0F, bytes) << type.name;
    }
  }
}

TEST(TouchedTable, ForgetsARowAndKeepsTheOthers) {
  TouchedTable table(huge(OptimizerKind::adagrad), 0, initial);
  for (const std::int64_t row : {3, 5, 8}) {
    table.values(table.touch(row))[0] = static_cast<float>(row);
    table.state(table.touch(row))[1] = static_cast<float>(-row);
  }
  table.forget(3);
  EXPECT_EQ(table.find(3), -1);
  EXPECT_EQ(table.rows().size(), 2U);
  for (const std::int64_t row : {5, 8}) {
    ASSERT_LT(table.find(row), 2);
    EXPECT_EQ(table.rows()[table.find(row)], row);
    EXPECT_EQ(table.values(table.find(row))[0], static_cast<float>(row));
    EXPECT_EQ(table.state(table.find(row))[1], static_cast<float>(-row));
  }
  EXPECT_EQ(table.values(table.touch(3))[0], initial(0, 3, 0));
  for (const std::int64_t row : {5, 8, 3}) table.forget(row);
  EXPECT_TRUE(table.rows().empty());
}

TEST(TouchedTable, OnlyTheFirstVectorOfFtrlStartsAtTheInitialAccumulator) {
  TouchedTable table(huge(OptimizerKind::ftrl), 0, initial);
  const auto state = table.state(table.touch(3));
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(state[i], i < 4 ? 0.25F : 0.0F) << i;
}

}  // namespace
}  // namespace shardmark::reference
