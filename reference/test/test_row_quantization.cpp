// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "reference/oracle.hpp"
#include "reference/row_quantization.hpp"

namespace shardmark::reference {
namespace {

using Floats = std::vector<float>;

TEST(RowQuantization, Literals) {
  const RowScale scale = row_scale(Floats{-1, 509, 2, 3});  // 2 q - 1
  EXPECT_EQ(scale.scale, 2.0F);
  EXPECT_EQ(scale.offset, -1.0F);
  EXPECT_EQ(scale.quantized(-1), 0);
  EXPECT_EQ(scale.quantized(509), 255);
  EXPECT_EQ(scale.quantized(2), 2);  // 1.5 and 0.5 go to the even one
  EXPECT_EQ(scale.quantized(0), 0);
  EXPECT_EQ(scale.quantized(2.9F), 2);
  EXPECT_EQ(scale.quantized(3.1F), 2);
  EXPECT_EQ(scale.value(2), 3.0F);
  EXPECT_EQ(scale.value(255), 509.0F);
}

TEST(RowQuantization, ConstantRowsAreExact) {
  for (const float x : {0.0F, -3.7F, 1e-40F}) {
    const RowScale scale = row_scale(Floats{x, x, x});
    EXPECT_EQ(scale.scale, 0.0F);
    EXPECT_EQ(scale.quantized(x), 0);
    EXPECT_EQ(scale.value(0), x);
  }
}

TEST(RowQuantization, AWholeRowComesBackWithinHalfAStep) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> real(-1.0F, 3.0F);
    Floats row(1 + seed % 40);
    for (float& x : row) x = std::ldexp(real(random), static_cast<int>(seed % 7) * 20 - 60);
    const RowScale scale = row_scale(row);
    const double largest = std::abs(*std::ranges::max_element(row, {}, [](float x) { return std::abs(x); }));
    for (const float x : row)
      EXPECT_LE(std::abs(static_cast<double>(scale.value(scale.quantized(x))) - x),
                0.5001 * scale.scale + 0x1p-22 * largest)
          << "seed " << seed;
    EXPECT_EQ(scale.value(scale.quantized(scale.offset)), scale.offset) << "seed " << seed;
  }
}

TEST(RowQuantization, TinyRangesStayInside) {
  constexpr float tiny = std::numeric_limits<float>::denorm_min();
  const RowScale scale = row_scale(Floats{0, 300 * tiny});  // the scale is rounded down to one tiny
  EXPECT_EQ(scale.quantized(300 * tiny), 255);
  EXPECT_EQ(row_scale(Floats{0, 100 * tiny}).quantized(100 * tiny), 0);
}

TEST(RowQuantization, RangesBeyondTheLargestFloatSaturate) {
  constexpr float largest = std::numeric_limits<float>::max();
  const RowScale scale = row_scale(Floats{-largest, largest, 0});
  EXPECT_EQ(scale.scale, largest / 255);
  EXPECT_EQ(scale.value(scale.quantized(-largest)), -largest);
  EXPECT_EQ(scale.value(scale.quantized(0)), 0.0F);
  EXPECT_EQ(scale.value(scale.quantized(largest)), 0.0F);  // as far up as 255 steps reach
}

// 0.1F * 3 + 1e-3F: the product is rounded before the sum.
TEST(RowQuantization, TwoRoundings) {
  const RowScale scale{.scale = 0.1F, .offset = 1e-3F};
  const volatile float product = 0.1F * 3.0F;
  EXPECT_EQ(scale.value(3), product + 1e-3F);
}

TEST(RowQuantization, TheOracleLooksUpBytesAsTheirScaleGivesThem) {
  const RowValues rows{.seed = 4};
  Oracle oracle(
      {{.name = "A", .rows = 4, .dim = 3, .optimizer = {.kind = OptimizerKind::none}, .value_type = ValueType::int8}},
      {{.name = "f0", .table = 0, .pooling = Pooling::none}}, rows, GradientValues{.seed = 42});
  EXPECT_FALSE(oracle.bit_exact(0));
  const Batch batch{.samples = 1, .features = 1, .offsets = {0, 1}, .indices = {2}, .weights = {}};
  const Expected expected = oracle.lookup(batch, 0, 0, 1);
  const Floats row{rows(0, 2, 0), rows(0, 2, 1), rows(0, 2, 2)};
  const RowScale scale = row_scale(row);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(expected.values[c], scale.value(scale.quantized(row[c])));
    EXPECT_GT(expected.bounds[c], 0.0F);
    EXPECT_LT(expected.bounds[c], 1e-6F);
  }
}

}  // namespace
}  // namespace shardmark::reference
