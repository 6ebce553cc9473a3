// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "reference/value_type.hpp"

namespace shardmark::reference {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// From the definition of the formats: sign, significand times a power of two.
double value_of(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const std::uint32_t fraction = bits & ((1U << fraction_bits) - 1U);
  const auto exponent = static_cast<int>(bits >> fraction_bits & ((1U << exponent_bits) - 1U));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (bits >> 15) == 1U ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) return fraction == 0 ? sign * infinity : std::nan("");
  const double significand = fraction + (exponent == 0 ? 0.0 : std::ldexp(1.0, fraction_bits));
  return sign * std::ldexp(significand, std::max(exponent, 1) - bias - fraction_bits);
}
double value_of(Fp16 value) { return value_of(value.bits, 5, 10); }
double value_of(Bf16 value) { return value_of(value.bits, 8, 7); }

template <class T>
class HalfType : public testing::Test {};
using Types = testing::Types<Fp16, Bf16>;
TYPED_TEST_SUITE(HalfType, Types);

TYPED_TEST(HalfType, EveryPatternConvertsExactlyAndBack) {
  using T = TypeParam;
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const T value{static_cast<std::uint16_t>(bits)};
    if (std::isnan(value_of(value))) {
      ASSERT_TRUE(std::isnan(to_float(value))) << bits;
      ASSERT_TRUE(std::isnan(to_float(rounded_to<T>(to_float(value))))) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(to_float(value)), value_of(value)) << bits;
      ASSERT_EQ(std::signbit(to_float(value)), bits >> 15 == 1U) << bits;
      ASSERT_EQ(rounded_to<T>(to_float(value)).bits, bits);
    }
  }
}

/// All finite values of the type that are not negative, ascending: those of its patterns in their order.
template <class T>
std::vector<float> finite_values() {
  std::vector<float> values;
  for (std::uint16_t bits = 0; std::isfinite(to_float(T{bits})); ++bits) values.push_back(to_float(T{bits}));
  return values;
}

/// By search: the closest value of the type, of two the one whose pattern is even; the largest beyond the largest.
template <class T>
float nearest_by_search(const std::vector<float>& values, float value) {
  const float magnitude = std::abs(value);
  const auto above = std::ranges::lower_bound(values, magnitude);
  if (above == values.end()) return std::copysign(values.back(), value);
  const auto below = *above == magnitude || above == values.begin() ? above : above - 1;
  const double to_above = static_cast<double>(*above) - magnitude;
  const double to_below = static_cast<double>(magnitude) - *below;
  const bool up = to_above < to_below || (to_above == to_below && (above - values.begin()) % 2 == 0);
  return std::copysign(up ? *above : *below, value);
}

TYPED_TEST(HalfType, RoundsToTheNearestTiesToEven) {
  using T = TypeParam;
  const auto values = finite_values<T>();
  const auto check = [&](float value) {
    const float rounded = to_float(rounded_to<T>(value)), expected = nearest_by_search<T>(values, value);
    EXPECT_EQ(rounded, expected) << std::hexfloat << value;
    EXPECT_EQ(std::signbit(rounded), std::signbit(value)) << std::hexfloat << value;
  };
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {  // every tie and its neighbours in fp32
    const auto tie = static_cast<float>((static_cast<double>(values[i]) + values[i + 1]) / 2);
    for (const float sign : {-1.0F, 1.0F})
      for (const float value : {std::nextafter(tie, 0.0F), tie, std::nextafter(tie, infinity)}) check(sign * value);
  }
  std::mt19937 random(3);
  for (int i = 0; i < 1000000; ++i)
    if (const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random())); std::isfinite(value))
      check(value);
  std::uniform_real_distribution<float> near_range(-70000.0F, 70000.0F), small(-0x1p-13F, 0x1p-13F);
  for (int i = 0; i < 100000; ++i) {
    check(near_range(random));
    check(small(random));
  }
}

TYPED_TEST(HalfType, SpecialValues) {
  using T = TypeParam;
  EXPECT_EQ(to_float(rounded_to<T>(infinity)), infinity);
  EXPECT_EQ(to_float(rounded_to<T>(-infinity)), -infinity);
  for (const std::uint32_t nan : {0x7f800001U, 0x7fc00000U, 0xffffffffU, 0xff800001U, 0x7fffffffU})
    EXPECT_TRUE(std::isnan(to_float(rounded_to<T>(std::bit_cast<float>(nan))))) << nan;
  EXPECT_EQ(rounded_to<T>(-0.0F).bits, 0x8000);
  EXPECT_EQ(to_float(rounded_to<T>(std::numeric_limits<float>::denorm_min() / 2)), 0.0F);
}

TEST(ValueTypes, Literals) {
  EXPECT_EQ(rounded_to<Fp16>(1.0F).bits, 0x3c00);
  EXPECT_EQ(rounded_to<Fp16>(65504.0F).bits, 0x7bff);
  EXPECT_EQ(rounded_to<Fp16>(65520.0F).bits, 0x7bff);  // IEEE would make it infinite
  EXPECT_EQ(rounded_to<Fp16>(-1e30F).bits, 0xfbff);
  EXPECT_EQ(rounded_to<Fp16>(0x1p-24F).bits, 0x0001);
  EXPECT_EQ(rounded_to<Fp16>(0x1p-25F).bits, 0x0000);
  EXPECT_EQ(rounded_to<Fp16>(0x1.8p-24F).bits, 0x0002);
  EXPECT_EQ(rounded_to<Bf16>(1.0F).bits, 0x3f80);
  EXPECT_EQ(rounded_to<Bf16>(0x1.01p0F).bits, 0x3f80);
  EXPECT_EQ(rounded_to<Bf16>(0x1.03p0F).bits, 0x3f82);
  EXPECT_EQ(rounded_to<Bf16>(std::numeric_limits<float>::max()).bits, 0x7f7f);
}

TEST(ValueTypes, BytesOfARow) {
  EXPECT_EQ(row_bytes(ValueType::fp32, 5), 20);
  EXPECT_EQ(row_bytes(ValueType::fp16, 5), 10);
  EXPECT_EQ(row_bytes(ValueType::bf16, 5), 10);
  EXPECT_EQ(row_bytes(ValueType::int8, 5), 16);
  EXPECT_EQ(row_bytes(ValueType::int8, 8), 16);
}

TEST(ValueTypes, StandAtTheirValueAndAreFoundByName) {
  for (std::size_t i = 0; i < value_types.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(value_types[i].value), i);
    EXPECT_EQ(named<ValueType>(value_types[i].name), value_types[i].value);
    EXPECT_EQ(name_of(value_types[i].value), value_types[i].name);
  }
  EXPECT_THROW(named<ValueType>("fp8"), InputError);
}

}  // namespace
}  // namespace shardmark::reference
