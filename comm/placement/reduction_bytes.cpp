// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/reduction_bytes.hpp"

#include <bit>
#include <cstddef>

namespace shardmark {
namespace {

void add_direct(std::span<const std::int64_t> bytes, ByteMatrix& sent) {
  for (int from = 0; from < sent.ranks(); ++from)
    for (int to = 0; to < sent.ranks(); ++to) sent.add(from, to, bytes[to]);
}

void add_halving(std::span<const std::int64_t> bytes, ByteMatrix& sent) {
  const int ranks = sent.ranks();
  const int folded = ranks - static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const auto number = [&](int rank) { return rank < 2 * folded ? rank / 2 : rank - folded; };
  const auto folds = [&](int rank) { return rank < 2 * folded && rank % 2 == 0; };
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      for (int needed = 0; needed < ranks; ++needed) {
        const std::int64_t part = bytes[needed];
        const int difference = number(from) ^ number(to);
        if (folds(from)) sent.add(from, to, to == from + 1 ? part : 0);
        if (folds(to)) sent.add(from, to, to == from - 1 && needed == to ? part : 0);
        if (folds(from) || folds(to) || !std::has_single_bit(static_cast<unsigned>(difference))) continue;
        sent.add(from, to, number(needed) / difference == number(to) / difference ? part : 0);
      }
}

}  // namespace

ByteMatrix reduction_bytes(ReductionSteps steps, std::span<const std::int64_t> bytes) {
  ByteMatrix sent(static_cast<int>(bytes.size()));
  steps == ReductionSteps::halving ? add_halving(bytes, sent) : add_direct(bytes, sent);
  return sent;
}

}  // namespace shardmark
