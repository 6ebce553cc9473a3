// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <span>

#include "comm/placement/traffic/byte_matrix.hpp"

namespace shardmark::placement {

/// Says by what steps partial sums are added on their way: direct, each to the rank that needs it (and what a library
/// must send at least); halving, by comm/reduction/halving_reduction.hpp.
enum class ReductionSteps { direct, halving };

/// Returns the rank to which `from` hands its partial sums for rank `needed`, with those that it was given; `from`
/// itself when they have arrived. Every rank hands them on once.
///   direct   `needed`
///   halving  of P ranks Q = 2^floor(log2 P) participate, numbered q = 0 .. Q - 1: the first 2 (P - Q) ranks in pairs
///            of which the second stands for both, q = r / 2, the others q = r - (P - Q). The first of a pair hands to
///            the second, and gets its own sums from it last. Others hand to q xor d, where d is the highest bit in
///            which q differs from the number of `needed`.
inline int next_hop(ReductionSteps steps, int ranks, int from, int needed) {
  if (steps == ReductionSteps::direct) return needed;
  const int paired = ranks - static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const auto number = [&](int rank) { return rank < 2 * paired ? rank / 2 : rank - paired; };
  if (from < 2 * paired && from % 2 == 0) return from + 1;
  const auto differing = static_cast<unsigned>(number(from) ^ number(needed));
  if (differing == 0) return needed;
  const int to = number(from) ^ static_cast<int>(std::bit_floor(differing));
  return to < paired ? 2 * to + 1 : to + paired;
}

/// Returns what ranks send when each has `bytes[r]` bytes of partial sums for every rank r. The gather of as many bytes
/// from every rank takes the same steps backwards: its bytes are the transposed matrix.
inline ByteMatrix reduction_bytes(ReductionSteps steps, std::span<const std::int64_t> bytes) {
  ByteMatrix sent(static_cast<int>(bytes.size()));
  for (int from = 0; from < sent.ranks(); ++from)
    for (int needed = 0; needed < sent.ranks(); ++needed)
      sent.add(from, next_hop(steps, sent.ranks(), from, needed), bytes[needed]);
  return sent;
}

}  // namespace shardmark::placement
