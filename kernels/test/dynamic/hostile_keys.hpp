// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <limits>
#include <set>

#include "kernels/test/bags.hpp"
#include "reference/dynamic/key_buckets.hpp"

namespace shardmark::kernels::test {

using Keys = std::vector<std::int64_t>;

/// Returns x with x * odd = 1 modulo 2^64: Newton's iteration doubles the right bits.
constexpr std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t x = odd;
  for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
  return x;
}

/// Returns the key whose bits these are, which the mix of keys, a bijection, has just one of.
constexpr std::int64_t key_of_bits(const KeyBuckets& mix, std::uint64_t bits) {
  const auto undo_shift = [](std::uint64_t x, int shift) {
    for (std::uint64_t y = x >> shift; y > 0; y >>= shift) x ^= y;
    return x;
  };
  bits = undo_shift(bits, 31) * inverse(0x94d049bb133111ebULL);
  bits = undo_shift(bits, 27) * inverse(0xbf58476d1ce4e5b9ULL);
  bits = undo_shift(bits, 30) - mix.seed;
  return static_cast<std::int64_t>(bits * inverse(0x9e3779b97f4a7c15ULL) - 1);
}
static_assert(KeyBuckets{77}.bits(key_of_bits({77}, 0x123456789abcdef0ULL)) == 0x123456789abcdef0ULL);

/// Returns distinct keys of the kinds that tables of keys have failed on, shuffled: those that others reserve, and
/// extremes; numbers from 0; keys that differ in their upper bits alone; multiples of powers of two and of numbers of
/// ranks; keys of one bucket; keys of one bucket that begin in the same line of it; random ones.
inline Keys hostile_keys(const KeyBuckets& mix, std::int64_t of_a_kind, Random& random) {
  std::set<std::int64_t> keys;
  constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t near : {std::int64_t{0}, least + 3, most - 3, std::int64_t{1} << 32, std::int64_t{1} << 31})
    for (std::int64_t key = near - 3; key < near + 3; ++key) keys.insert(key);
  for (std::int64_t i = 0; i < of_a_kind; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    keys.insert(i);
    keys.insert(static_cast<std::int64_t>(n << 40 | 5));
    keys.insert(static_cast<std::int64_t>(n << 12));
    keys.insert(3 * i);
    keys.insert(key_of_bits(mix, std::uint64_t{9} << 52 | n << 32));
    keys.insert(key_of_bits(mix, std::uint64_t{10} << 52 | n));
    keys.insert(static_cast<std::int64_t>(random()));
  }
  Keys shuffled(keys.begin(), keys.end());
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  return shuffled;
}

/// Returns how many operations a random schedule has: SHARDMARK_TEST_OPERATIONS, or what CI has time for.
inline std::int64_t operations(std::int64_t of_ci) {
  const char* const wanted = std::getenv("SHARDMARK_TEST_OPERATIONS");
  return wanted == nullptr ? of_ci : std::strtoll(wanted, nullptr, 10);
}

}  // namespace shardmark::kernels::test
