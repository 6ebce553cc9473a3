// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "reference/counter_random.hpp"

namespace shardmark::reference {
namespace {

// The outputs of SplitMix64 for the seed 1234567, as listed by Rosetta Code ("Pseudo-random numbers/Splitmix64").
TEST(CounterRandom, IsSplitMix64) {
  constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15ULL;
  constexpr std::array<std::uint64_t, 5> published{6457827717110365317ULL, 3203168211198807973ULL,
                                                   9817491932198370423ULL, 4593380528125082431ULL,
                                                   16408922859458223821ULL};
  for (std::size_t i = 0; i < published.size(); ++i) EXPECT_EQ(mix(1234567 + (i + 1) * golden_ratio), published[i]);
  static_assert(random_bits(1234567) == published[0]);
  // A counter k takes output k of the stream that the bits so far seed.
  EXPECT_EQ(random_bits(1234567, 4), mix(published[0] + 5 * golden_ratio));
}

TEST(CounterRandom, LiteralsStayAsTheyWere) {
  EXPECT_EQ(random_bits(7, 1, 2, 3), 9629103888653098766ULL);
  EXPECT_EQ(random_bits(7, 3, 2, 1), 13829043649720692294ULL);
  EXPECT_EQ(random_bits(~std::uint64_t{0}, std::int64_t{1'000'000'000'000}), 3187004175192951138ULL);
}

TEST(CounterRandom, DependsOnEveryCounterAndOnItsPlace) {
  const auto bits = random_bits(7, 1, 2, 3);
  EXPECT_NE(bits, random_bits(8, 1, 2, 3));
  EXPECT_NE(bits, random_bits(7, 0, 2, 3));
  EXPECT_NE(bits, random_bits(7, 1, 3, 3));
  EXPECT_NE(bits, random_bits(7, 1, 2, 4));
  EXPECT_NE(bits, random_bits(7, 2, 1, 3));
  EXPECT_NE(random_bits(7), random_bits(7, 0));
  EXPECT_NE(random_bits(7, std::int64_t{1}), random_bits(7, (std::int64_t{1} << 32) + 1));
}

TEST(CounterRandom, UnitIntervalIsHalfOpen) {
  EXPECT_EQ(unit_interval(0), 0.0);
  EXPECT_EQ(unit_interval(std::uint64_t{1} << 63), 0.5);
  EXPECT_EQ(unit_interval(~std::uint64_t{0}), 1.0 - 0x1p-53);
}

// 16 boxes of 4096 expected: a standard deviation is 62; 6 of them are never seen by chance.
TEST(CounterRandom, FillsTheIntervalEvenly) {
  constexpr std::int64_t draws = 65536;
  for (const std::uint64_t seed : {0ULL, 1ULL, 0xffffffffffffffffULL}) {
    SCOPED_TRACE(seed);
    std::array<std::int64_t, 16> boxes{};
    double sum = 0.0, product = 0.0, previous = 0.5;
    for (std::int64_t i = 0; i < draws; ++i) {
      const double x = unit_interval(random_bits(seed, i / 256, i % 256));
      ++boxes[static_cast<std::size_t>(x * 16)];
      sum += x;
      product += (x - 0.5) * (previous - 0.5);
      previous = x;
    }
    for (const auto count : boxes) EXPECT_NEAR(static_cast<double>(count), 4096.0, 372.0);
    EXPECT_NEAR(sum / draws, 0.5, 6 * std::sqrt(1.0 / 12 / draws));
    EXPECT_NEAR(product / draws, 0.0, 6.0 / 12 / std::sqrt(static_cast<double>(draws)));
  }
}

TEST(CounterRandom, SymmetricIntegerReachesBothEndsEvenly) {
  EXPECT_EQ(symmetric_integer(0, 4), -4);
  EXPECT_EQ(symmetric_integer(~std::uint64_t{0}, 4), 4);
  EXPECT_EQ(symmetric_integer(std::uint64_t{1} << 63, 4), 0);
  EXPECT_EQ(symmetric_integer(~std::uint64_t{0}, 0), 0);
  EXPECT_EQ(symmetric_integer(~std::uint64_t{0}, (std::int64_t{1} << 31) - 1), (std::int64_t{1} << 31) - 1);

  std::map<std::int64_t, int> counts;
  for (std::int64_t i = 0; i < 9000; ++i) ++counts[symmetric_integer(random_bits(3, i), 4)];
  ASSERT_EQ(counts.size(), 9U);
  EXPECT_EQ(counts.begin()->first, -4);
  EXPECT_EQ(counts.rbegin()->first, 4);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 1000, 180) << value;
}

TEST(CounterRandom, ASweepBackwardsGivesTheSameCells) {
  std::vector<std::uint64_t> forward, backward(100);
  for (std::int64_t i = 0; i < 100; ++i) forward.push_back(random_bits(5, i / 10, i % 10));
  for (std::int64_t i = 99; i >= 0; --i) backward[i] = random_bits(5, i / 10, i % 10);
  EXPECT_EQ(forward, backward);
}

}  // namespace
}  // namespace shardmark::reference
