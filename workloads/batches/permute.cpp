// SPDX-License-Identifier: Apache-2.0
#include "workloads/batches/permute.hpp"

#include <bit>

#include "reference/counter_random.hpp"

namespace shardmark::workloads {
namespace {

constexpr int feistel_rounds = 4;

/// Is a number of an even number of bits as two halves.
struct Halves {
  int bits;
  std::uint64_t mask;

  explicit Halves(std::int64_t rows)
      : bits((static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows - 1))) + 1) / 2),
        mask((std::uint64_t{1} << bits) - 1) {}

  std::uint64_t round(std::uint64_t seed, int round, std::uint64_t half) const {
    return random_bits(seed, round, half) & mask;
  }
};

}  // namespace

std::int64_t permute(std::uint64_t seed, std::int64_t rows, std::int64_t id) {
  const Halves halves(rows);
  auto x = static_cast<std::uint64_t>(id);
  do {
    std::uint64_t left = x >> halves.bits, right = x & halves.mask;
    for (int round = 0; round < feistel_rounds; ++round) {
      const std::uint64_t next = left ^ halves.round(seed, round, right);
      left = right;
      right = next;
    }
    x = left << halves.bits | right;
  } while (x >= static_cast<std::uint64_t>(rows));
  return static_cast<std::int64_t>(x);
}

std::int64_t permuted_back(std::uint64_t seed, std::int64_t rows, std::int64_t place) {
  const Halves halves(rows);
  auto x = static_cast<std::uint64_t>(place);
  do {
    std::uint64_t left = x >> halves.bits, right = x & halves.mask;
    for (int round = feistel_rounds - 1; round >= 0; --round) {
      const std::uint64_t before = right ^ halves.round(seed, round, left);
      right = left;
      left = before;
    }
    x = left << halves.bits | right;
  } while (x >= static_cast<std::uint64_t>(rows));
  return static_cast<std::int64_t>(x);
}

}  // namespace shardmark::workloads
