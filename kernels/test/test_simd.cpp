// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/simd.hpp"
#include "kernels/simd/groups.hpp"
#include "kernels/test/bags.hpp"

// Built three times: as the machine has it, without AVX-512, and without AVX.

namespace shardmark::kernels::test {
namespace {

using Values = std::array<float, simd_width>;

Values values_of(const Simd& lanes) {
  Values values;
  store_simd(values.data(), lanes, simd_width);
  return values;
}
Simd lanes_of(const Values& values) { return load_simd(values.data(), simd_width); }

/// Any numbers below 2, and in every fourth place one that is special in some way.
Values draw_values(std::mt19937& random) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr std::array special{0.0F, -0.0F, 1.0F, inf, -inf, std::numeric_limits<float>::quiet_NaN(), 0x1p-149F};
  Values values;
  for (auto& value : values)
    value = random() % 4 == 0 ? special[random() % special.size()]
                              : std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0xbfffffffU);
  return values;
}

/// Equal bits, or both not a number.
void expect_same(float lane, float expected) {
  EXPECT_TRUE(std::bit_cast<std::uint32_t>(lane) == std::bit_cast<std::uint32_t>(expected) ||
              (std::isnan(lane) && std::isnan(expected)))
      << lane << " is not " << expected;
}

TEST(Simd, DoToEachWhatIsDoneToANumber) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    std::mt19937 random(seed);
    const Values a = draw_values(random), b = draw_values(random), c = draw_values(random);
    const auto expect_each = [&](const auto& op) {
      const Values result = values_of(op(lanes_of(a), lanes_of(b), lanes_of(c)));
      for (std::size_t i = 0; i < result.size(); ++i) expect_same(result[i], op(a[i], b[i], c[i]));
    };
    expect_each([](auto x, auto y, auto) { return x + y; });
    expect_each([](auto x, auto y, auto) { return x - y; });
    expect_each([](auto x, auto y, auto) { return x * y; });
    expect_each([](auto x, auto y, auto) { return x / y; });
    expect_each([](auto x, auto y, auto z) { return fused(x, y, z); });
    expect_each([](auto x, auto, auto) { return square_root(x); });
    expect_each([](auto x, auto y, auto) { return larger(x, y); });
    expect_each([](auto x, auto y, auto) { return smaller(x, y); });
    expect_each([](auto x, auto y, auto) { return 2.0F * x + fused(0.5F, y, x); });
    const Values equal = values_of(where_equal(lanes_of(a), 0.0F, lanes_of(c)));
    for (std::size_t i = 0; i < equal.size(); ++i) expect_same(equal[i], a[i] == 0.0F ? c[i] : 0.0F);
  }
}

TEST(Simd, AreAddedHalvesToHalves) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    Values values;
    for (auto& value : values) value = normal(random);
    Values sum = values;
    for (std::size_t half = sum.size() / 2; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) sum[i] += sum[i + half];
    EXPECT_EQ(sum_of(lanes_of(values)), sum[0]);
  }
}

TEST(Simd, BeyondTheCountAreNeitherReadNorWritten) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t count = 1; count <= simd_width; ++count) {
    SCOPED_TRACE(count);
    const auto expect = [&](const Simd& lanes, float behind, const auto& value) {
      for (std::int64_t i = 0; i < simd_width; ++i) expect_same(values_of(lanes)[i], i < count ? value(i) : behind);
    };
    const auto expect_loaded = [&](const auto& of) {
      std::vector<decltype(of(0))> from;  // its end is watched by preset asan
      for (std::int64_t i = 0; i < count; ++i) from.push_back(of(static_cast<float>(i + 1)));
      expect(load_simd(from.data(), count), 0.0F, [](std::int64_t i) { return static_cast<float>(i + 1); });
    };
    expect_loaded([](float value) { return value; });
    expect_loaded([](float value) { return rounded_to<Fp16>(value); });
    expect_loaded([](float value) { return rounded_to<Bf16>(value); });
    expect_loaded([](float value) { return static_cast<std::uint8_t>(value); });

    const auto two = [](std::int64_t) { return 2.0F; };
    expect(first_lanes(2.0F, count, nan), nan, two);
    Values stored;
    stored.fill(-1.0F);
    store_simd(stored.data(), 2.0F, count);
    expect(lanes_of(stored), -1.0F, two);
  }
}

template <int Width>
void expect_groups() {
  constexpr std::int64_t stride = 11, rows = simd_width / Width;
  std::array<float, rows * stride> from{}, to{};
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  const Values fours = values_of(load_fours<Width>(from.data(), stride));
  const Values repeated = values_of(load_repeated<Width>(from.data()));
  const Values groups = values_of(load_groups<Width>(from.data(), stride));
  const Values second = values_of(spread_in_fours<1>(lanes_of(fours)));
  for (std::int64_t j = 0; j < simd_width; ++j) {
    expect_same(fours[j], from[j / Width * stride + j % 4]);
    expect_same(repeated[j], from[j % Width]);
    expect_same(groups[j], from[j / Width * stride + j % Width]);
    expect_same(second[j], fours[j / 4 * 4 + 1]);
  }
  store_groups<Width>(to.data(), stride, lanes_of(groups));
  for (std::int64_t i = 0; i < std::ssize(to); ++i) expect_same(to[i], i % stride < Width ? from[i] : 0.0F);
}

TEST(Simd, HoldSeveralShortRows) {
  expect_groups<4>();
  expect_groups<8>();
}

/// Numbers of every kind, and those where a type ends: its smallest, its largest, what rounds to infinity.
Values draw_for_rounding(std::mt19937& random) {
  constexpr std::array ends{65504.0F,     65519.0F,  65520.0F,        65536.0F,        0x1p-14F,
                            0x1.ffcp-15F, 0x1p-24F,  0x1p-25F,        0x1.fffffep127F, 0x1.fep127F,
                            0x1.01p0F,    0x1.03p0F, 1.0F + 0x1p-11F, 1.0F + 0x3p-11F};
  Values values = draw_values(random);
  for (auto& value : values) {
    if (random() % 3 == 0) value = std::copysign(ends[random() % ends.size()], random() % 2 == 0 ? 1.0F : -1.0F);
    if (random() % 3 == 0)
      value = std::ldexp(static_cast<float>(random()) * 0x1p-32F, static_cast<int>(random() % 45) - 28);
  }
  return values;
}

/// Normal numbers of every type, of either sign.
Values draw_usual(std::mt19937& random) {
  Values values;
  for (auto& value : values) {
    const float number =
        std::ldexp(1.0F + static_cast<float>(random()) * 0x1p-32F, static_cast<int>(random() % 28) - 14);
    value = random() % 2 == 0 ? number : -number;
  }
  return values;
}

template <HalfPrecision T>
void expect_rounded_as_numbers(unsigned seed) {
  std::mt19937 random(seed);
  const Values values = seed % 3 == 0 ? draw_usual(random) : draw_for_rounding(random);
  const auto count = static_cast<std::int64_t>(random() % simd_width + 1);
  const std::uint64_t row_bits = random();
  const auto column = static_cast<std::int64_t>(random() % 1000);
  std::vector<T> nearest(static_cast<std::size_t>(count)),
      stochastic = nearest;  // their ends are watched by preset asan
  store_simd(nearest.data(), lanes_of(values), count);
  store_stochastically(stochastic.data(), lanes_of(values), row_bits, column, count);
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    const std::uint32_t bits = rounding_bits(row_bits, column + static_cast<std::int64_t>(i));
    EXPECT_EQ(nearest[i].bits, rounded_to<T>(values[i]).bits) << values[i];
    EXPECT_EQ(stochastic[i].bits, stochastically_rounded_to<T>(values[i], bits).bits) << values[i];
  }
}

TEST(Simd, AreRoundedAsNumbersAre) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    expect_rounded_as_numbers<Fp16>(seed);
    expect_rounded_as_numbers<Bf16>(seed);
  }
}

TEST(Simd, StoredPastTheCachesArrive) {
  alignas(64) Values stored{};
  store_past_caches(stored.data(), 3.0F);
  finish_stores_past_caches();
  for (const float value : stored) EXPECT_EQ(value, 3.0F);
}

}  // namespace
}  // namespace shardmark::kernels::test
