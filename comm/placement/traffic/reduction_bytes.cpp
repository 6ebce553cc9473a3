// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/traffic/reduction_bytes.hpp"

#include <bit>

namespace shardmark::placement {

int next_hop(ReductionSteps steps, int ranks, int from, int needed) {
  if (steps == ReductionSteps::direct) return needed;
  const int paired = ranks - static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const auto number = [&](int rank) { return rank < 2 * paired ? rank / 2 : rank - paired; };
  if (from < 2 * paired && from % 2 == 0) return from + 1;
  const auto differing = static_cast<unsigned>(number(from) ^ number(needed));
  if (differing == 0) return needed;
  const int to = number(from) ^ static_cast<int>(std::bit_floor(differing));
  return to < paired ? 2 * to + 1 : to + paired;
}

ByteMatrix reduction_bytes(ReductionSteps steps, std::span<const std::int64_t> bytes) {
  ByteMatrix sent(static_cast<int>(bytes.size()));
  for (int from = 0; from < sent.ranks(); ++from)
    for (int needed = 0; needed < sent.ranks(); ++needed)
      sent.add(from, next_hop(steps, sent.ranks(), from, needed), bytes[needed]);
  return sent;
}

}  // namespace shardmark::placement
