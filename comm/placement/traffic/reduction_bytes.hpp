// SPDX-License-Identifier: Apache-2.0
#pragma once

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
int next_hop(ReductionSteps steps, int ranks, int from, int needed);

/// Returns what ranks send when each has `bytes[r]` bytes of partial sums for every rank r. The gather of as many bytes
/// from every rank takes the same steps backwards: its bytes are the transposed matrix.
ByteMatrix reduction_bytes(ReductionSteps steps, std::span<const std::int64_t> bytes);

}  // namespace shardmark::placement
