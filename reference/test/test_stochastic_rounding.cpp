// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "reference/rounding.hpp"

namespace shardmark::reference {
namespace {

/// The values of type T next to `value`: the largest not above it and the smallest not below it.
template <class T>
std::pair<float, float> neighbours(float value) {
  const T nearest = rounded_to<T>(value);
  const float at = to_float(nearest);
  if (at == value) return {at, at};
  const bool away = std::abs(at) < std::abs(value);  // the other neighbour has the larger magnitude
  const T other{static_cast<std::uint16_t>(nearest.bits + (away ? 1 : -1))};
  return std::minmax({at, to_float(other)});
}

template <class T>
class StochasticRounding : public testing::Test {};
using Types = testing::Types<Fp16, Bf16>;
TYPED_TEST_SUITE(StochasticRounding, Types);

TYPED_TEST(StochasticRounding, GivesANeighbourAndIsUnbiased) {
  using T = TypeParam;
  std::mt19937 random(7);
  for (const float value : {1.0F + 0x1p-12F, 0.3F, -0.3F, 1e-3F, -7.77F, 0x1.8p-16F, 0x1.9p-25F, -0x1.23456p-24F,
                            0x1.fffffep-15F, 100.01F, 0.0F, 0x1p-14F}) {
    const auto [below, above] = neighbours<T>(value);
    double sum = 0.0;
    constexpr int draws = 100000;
    for (int i = 0; i < draws; ++i) {
      const float rounded = to_float(stochastically_rounded_to<T>(value, static_cast<std::uint32_t>(random())));
      ASSERT_TRUE(rounded == below || rounded == above) << value << " became " << rounded;
      sum += (static_cast<double>(rounded) - below);
    }
    const double gap = static_cast<double>(above) - below;
    EXPECT_NEAR(sum / draws, static_cast<double>(value) - below, 5 * 0.5 * gap / std::sqrt(draws)) << value;
  }
}

TYPED_TEST(StochasticRounding, KeepsEveryValueOfTheType) {
  using T = TypeParam;
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = to_float(T{static_cast<std::uint16_t>(bits)});
    if (!std::isfinite(value)) continue;
    for (const std::uint32_t random : {0U, 0x80000000U, 0xffffffffU})
      ASSERT_EQ(stochastically_rounded_to<T>(value, random).bits, bits) << value;
  }
}

TYPED_TEST(StochasticRounding, GrowsWithTheValueForTheSameBits) {
  using T = TypeParam;
  std::mt19937 random(11);
  for (int i = 0; i < 200000; ++i) {
    auto low = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(low)) continue;
    float high = low;
    for (auto n = random() % 4; n <= 4; ++n) high = std::nextafter(high, std::numeric_limits<float>::max());
    const auto bits = static_cast<std::uint32_t>(random());
    ASSERT_LE(to_float(stochastically_rounded_to<T>(low, bits)), to_float(stochastically_rounded_to<T>(high, bits)))
        << low << " and " << high << " by bits " << bits;
  }
}

TYPED_TEST(StochasticRounding, SaturatesAndKeepsInfinityAndNan) {
  using T = TypeParam;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float most = std::numeric_limits<float>::max();
  const float largest = to_float(rounded_to<T>(most));
  EXPECT_TRUE(std::isfinite(largest));
  for (const std::uint32_t random : {0U, 0xffffffffU}) {
    EXPECT_EQ(to_float(stochastically_rounded_to<T>(most, random)), largest);
    EXPECT_EQ(to_float(stochastically_rounded_to<T>(-most, random)), -largest);
    EXPECT_EQ(to_float(stochastically_rounded_to<T>(-infinity, random)), -infinity);
    EXPECT_TRUE(std::isnan(to_float(stochastically_rounded_to<T>(std::nanf(""), random))));
  }
}

TEST(RoundingBits, DependOnEveryArgument) {
  std::set<std::uint32_t> seen;
  for (std::int64_t i = 0; i < 5; ++i) {
    std::int64_t at[5] = {3, 3, 3, 3, 3};
    ++at[i];
    seen.insert(rounding_bits(static_cast<std::uint64_t>(at[0]), at[1], at[2], at[3], at[4]));
  }
  seen.insert(rounding_bits(3, 3, 3, 3, 3));
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_EQ(rounding_bits(1, 2, 3, 4, 5), (random_bits(1, 2, 3, 4, 1) >> 16 & 0xffffU) << 16);
  EXPECT_EQ(rounding_bits(1, 2, 3, 4, 5), rounding_bits(random_bits(1, 2, 3, 4), 5));
}

TEST(RoundingBits, TypesChosenAtRunTime) {
  EXPECT_EQ(rounded_to(ValueType::fp32, 0.1F), 0.1F);
  EXPECT_EQ(rounded_to(ValueType::bf16, 0.1F), to_float(rounded_to<Bf16>(0.1F)));
  EXPECT_EQ(rounded_to(ValueType::fp16, 0.1F), to_float(rounded_to<Fp16>(0.1F)));
  EXPECT_EQ(stochastically_rounded_to(ValueType::fp32, 0.1F, 0xffffffffU), 0.1F);
  EXPECT_GT(stochastically_rounded_to(ValueType::bf16, 0.1F, 0xffffffffU), 0.1F);
  EXPECT_LT(stochastically_rounded_to(ValueType::fp16, 0.1F, 0U), 0.1F);
}

TEST(RowRounding, RoundsByThePlaceOfTheValue) {
  RowRounding rounding{.type = ValueType::bf16, .seed = 9, .step = 2, .table = 3, .row = 4};
  EXPECT_EQ(rounding(0.1F, 5), rounded_to(ValueType::bf16, 0.1F));
  rounding.stochastic = true;
  EXPECT_EQ(rounding(0.1F, 5), stochastically_rounded_to(ValueType::bf16, 0.1F, rounding_bits(9, 2, 3, 4, 5)));
}

}  // namespace
}  // namespace shardmark::reference
