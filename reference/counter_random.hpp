// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace shardmark::reference {

/// Mixes bits with the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection of 64 bits with full
/// avalanche. Bits: std::uint64_t, or a vector of them.
template <class Bits>
constexpr Bits mix(Bits x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Returns random_bits(.., counter) from the random_bits without it.
template <class Counter>
constexpr Counter next_random_bits(std::uint64_t bits, Counter counter) {
  constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15ULL;
  return mix(bits + golden_ratio * (counter + 1U));
}

/// Returns counter-based random bits: a function of its arguments only, so the same on every rank, thread and
/// placement.
template <class... Counters>
constexpr std::uint64_t random_bits(std::uint64_t seed, Counters... counters) {
  std::uint64_t bits = next_random_bits(seed, std::uint64_t{0});
  ((bits = next_random_bits(bits, static_cast<std::uint64_t>(counters))), ...);
  return bits;
}

/// Returns a number uniform in [0, 1) with 53 random bits.
constexpr double unit_interval(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Returns an integer uniform in {-limit, ..., limit}.
constexpr std::int64_t symmetric_integer(std::uint64_t bits, std::int64_t limit) {
  return static_cast<std::int64_t>((bits >> 32) * static_cast<std::uint64_t>(2 * limit + 1) >> 32) - limit;
}

/// Returns a number uniform in (0, 1], for logarithms.
inline double above_zero(std::uint64_t bits) { return 1.0 - unit_interval(bits); }

/// Returns a number drawn from N(0, 1): Box and Muller 1958.
inline double standard_normal(std::uint64_t bits) {
  const double radius = std::sqrt(-2.0 * std::log(above_zero(next_random_bits(bits, std::uint64_t{0}))));
  return radius * std::cos(2.0 * std::numbers::pi * unit_interval(next_random_bits(bits, std::uint64_t{1})));
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::next_random_bits, reference::random_bits, reference::standard_normal, reference::unit_interval;
}  // namespace shardmark
