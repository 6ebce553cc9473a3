// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reference/row_values.hpp"

namespace shardmark::reference {
namespace {

// k of random_bits(42, table, row, column), worked out apart from this code: 33, -7, -13, -39, -61.
constexpr RowValues exact{.seed = 42, .scale = 1.0F, .unit = 0x1p-7F};
static_assert(exact(0, 0, 0) == 33.0F / 128);
static_assert(exact(0, 0, 1) == -7.0F / 128);
static_assert(exact(0, 1, 0) == -13.0F / 128);
static_assert(exact(1, 0, 0) == -39.0F / 128);
static_assert(exact(3, 1'000'000'000'000, 7) == -61.0F / 128);

constexpr RowValues uniform{.seed = 42, .scale = 2.0F};
static_assert(uniform(0, 0, 0) == 4284713.0F * 0x1p-22F);
static_assert(uniform(0, 0, 1) == -902444.0F * 0x1p-22F);
static_assert(uniform(3, 1'000'000'000'000, 7) == -7878643.0F * 0x1p-22F);

TEST(RowValues, ExactOnesAreMultiplesOfTheUnitUpTo64) {
  std::set<float> seen;
  for (std::int64_t row = 0; row < 4000; ++row) {
    const float k = exact(5, row, row % 16) / exact.unit;
    EXPECT_EQ(k, std::round(k));
    EXPECT_LE(std::abs(k), 64.0F);
    seen.insert(k);
  }
  EXPECT_EQ(seen.size(), 129U);  // -64 ... 64, each of which is expected 31 times
}

TEST(RowValues, OthersFillTheirScale) {
  for (const float scale : {1.0F, 0.0123F, 1e-30F, 3e30F}) {
    const RowValues values{.seed = 9, .scale = scale};
    float smallest = scale, largest = -scale;
    double sum = 0.0;
    constexpr int count = 20000;
    for (std::int64_t row = 0; row < count; ++row) {
      const float x = values(0, row, 3);
      smallest = std::min(smallest, x);
      largest = std::max(largest, x);
      sum += x;
    }
    EXPECT_GE(smallest, -scale);
    EXPECT_LT(largest, scale);
    EXPECT_LT(smallest, -0.99F * scale);
    EXPECT_GT(largest, 0.99F * scale);
    EXPECT_NEAR(sum / scale / count, 0.0, 6 / std::sqrt(3.0 * count));
  }
}

TEST(RowValues, DependOnTheSeed) { EXPECT_NE((RowValues{.seed = 1}(0, 0, 0)), (RowValues{.seed = 2}(0, 0, 0))); }

// k of random_bits(~42, step, feature, sample, position, column): -2, 2, 4, 2, -2, 3.
constexpr GradientValues gradients{.seed = 42, .unit = 0.5F};
static_assert(gradients(0, 0, 0, 0, 0) == -1.0F);
static_assert(gradients(0, 0, 0, 0, 1) == 1.0F);
static_assert(gradients(0, 0, 0, 1, 0) == 2.0F);
static_assert(gradients(0, 0, 1, 0, 0) == 1.0F);
static_assert(gradients(0, 1, 0, 0, 0) == -1.0F);
static_assert(gradients(1, 0, 0, 0, 0) == 1.5F);
static_assert(gradients(2, 0, 0, 0, 0) == -1.0F && gradients(3, 0, 0, 0, 0) == 1.5F);  // they repeat

TEST(GradientValues, AreMultiplesOfTheUnitUpTo4) {
  constexpr GradientValues values{.seed = 1};
  std::set<float> seen;
  for (std::int64_t sample = 0; sample < 500; ++sample) seen.insert(values(2, 3, sample, 0, 5) / 0x1p-6F);
  EXPECT_EQ(seen, (std::set<float>{-4, -3, -2, -1, 0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace shardmark::reference
