// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "reference/rounding.hpp"

namespace shardmark::reference {
namespace {

static_assert(lowest_bit(12.0) == 4.0);
static_assert(lowest_bit(-12.0) == 4.0);
static_assert(lowest_bit(0.75) == 0.25);
static_assert(lowest_bit(1.0) == 1.0);
static_assert(lowest_bit(1.0 + 0x1p-52) == 0x1p-52);
static_assert(lowest_bit(0x1.8p-1073) == 0x1p-1074);
static_assert(lowest_bit(0.0) == 0.0);
static_assert(is_power_of_two(0.125) && is_power_of_two(64.0));
static_assert(!is_power_of_two(0.01F) && !is_power_of_two(0.0) && !is_power_of_two(-2.0) && !is_power_of_two(3.0));

BoundedSum sum_of(const std::vector<double>& terms) {
  BoundedSum sum;
  for (const double term : terms) sum.add(term);
  return sum;
}

TEST(BoundedSum, AddsAndBounds) {
  const BoundedSum sum = sum_of({3.0, -0.5, 0.0, 2.0});
  EXPECT_EQ(sum.value, 4.5);
  EXPECT_EQ(sum.magnitude, 5.5);
  EXPECT_EQ(sum.finest, 0.5);
  EXPECT_EQ(sum.terms, 4);
  EXPECT_EQ(sum.bound(), 6 * 0x1p-24 * 5.5);
  EXPECT_TRUE(sum.exact());
}

TEST(BoundedSum, IsExactUpTo24Bits) {
  EXPECT_TRUE(BoundedSum{}.exact());
  EXPECT_TRUE(sum_of({0.0, 0.0}).exact());
  EXPECT_TRUE(sum_of({0x1p24 - 1, 1.0}).exact());
  EXPECT_FALSE(sum_of({0x1p24, 1.0}).exact());
  EXPECT_FALSE(sum_of({0x1p24, -1.0}).exact());  // in another order a partial sum may be large
  EXPECT_TRUE(sum_of({1.0, 0x1p-23}).exact());
  EXPECT_FALSE(sum_of({1.0, 0x1p-25}).exact());
  EXPECT_FALSE(sum_of({0x1p-150}).exact());  // smaller than any float
}

TEST(BoundedSum, WhatIsCalledExactDoesNotDependOnOrder) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> integer(-4096, 4096);
    std::vector<double> terms(4096);
    for (auto& term : terms) term = integer(random) * 0x1p-9;
    const BoundedSum exact = sum_of(terms);
    ASSERT_TRUE(exact.exact());
    std::ranges::shuffle(terms, random);
    float sum = 0.0F;
    for (const double term : terms) sum += static_cast<float>(term);
    EXPECT_EQ(sum, exact.value);
  }
}

constexpr double u = unit_roundoff;

TEST(Rounded, EveryResultAddsTwoRoundings) {
  const Rounded three(3.0), seven(7.0);
  EXPECT_EQ((three + seven).error, 2 * u * 10);
  EXPECT_EQ((three - seven).error, 2 * u * 4);
  EXPECT_EQ((three * seven).error, 2 * u * 21);
  EXPECT_EQ((three / seven).error, 2 * u * (3.0 / 7.0));
  EXPECT_EQ(sqrt(seven).error, 2 * u * std::sqrt(7.0));
}

TEST(Rounded, CarriesTheErrorsOfItsOperands) {
  const Rounded a(3.0, 0.5), b(7.0, 0.25);
  EXPECT_EQ((a + b).error, 0.75 + 2 * u * 10);
  EXPECT_EQ((a - b).error, 0.75 + 2 * u * 4);
  EXPECT_EQ((a * b).error, 3 * 0.25 + 0.5 * 7.25 + 2 * u * 21);
  EXPECT_NEAR((a / b).error, 3.5 / 6.75 - 3.0 / 7, 1e-6);  // the farthest quotient
  EXPECT_NEAR(sqrt(a).error, std::sqrt(3.0) - std::sqrt(2.5), 1e-6);
  EXPECT_EQ(sqrt(Rounded(0.0, 0.25)).error, 0.5);
}

TEST(Rounded, ExactZerosChangeNothing) {
  const Rounded zero(0.0), a(3.0, 0.5);
  EXPECT_EQ((a + zero).error, 0.5);
  EXPECT_EQ((zero - a).error, 0.5);
  EXPECT_EQ((a * zero).error, 0.0);
  EXPECT_EQ((zero / a).error, 0.0);
  EXPECT_EQ(sqrt(zero).error, 0.0);
}

}  // namespace
}  // namespace shardmark::reference
