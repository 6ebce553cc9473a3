// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "comm/placement/byte_matrix.hpp"

namespace shardmark {

/// By what steps partial sums are added on their way: direct, each to the rank that needs it (and what a library must
/// send at least); halving, by comm/reduction/halving_reduction.hpp.
enum class ReductionSteps { direct, halving };

/// What ranks send when all have `bytes[r]` bytes of partial sums for each rank r, which go there. The gather of
/// as many bytes from every rank takes the same the other way: the transposed matrix.
///   direct   i -> j  bytes[j]
///   halving  of P ranks Q = 2^floor(log2 P) take part: rank r as q = r - (P - Q), the first 2 (P - Q) as q = r / 2.
///            The even ones among these first send all bytes to the next rank and last get their own from it, which
///            stands for both. q -> q xor d, d = 1, 2, 4, ... < Q: bytes of the ranks whose q differs from the
///            receiver's by bits below d alone.
ByteMatrix reduction_bytes(ReductionSteps steps, std::span<const std::int64_t> bytes);

}  // namespace shardmark
