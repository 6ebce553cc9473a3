// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace shardmark::reference {

/// `factors` whole numbers with product n, as equal as they can be (FBTT-Embedding's suggested_tt_shapes without
/// rounding up): of all ways to put the prime factors of n into that many blocks, none of them empty, the one whose
/// products x have the largest entropy, -sum x / S log(x / S) with S = sum x. Missing primes are ones. In the order
/// x_0, x_h, x_1, x_(h+1), ... of the ascending x, with h = factors / 2: two and three factors ascend.
/// n and factors at least 1. Costs up to sqrt(n) divisions.
std::vector<std::int64_t> exact_shape(std::int64_t n, int factors);

/// The same for the most even of n rounded up to multiples of 1, 10, 100, ... (as many as n has digits), the smallest
/// of equally even ones: product at least n. For the rows of a table, of which those behind n are padding; columns
/// cannot be padded.
std::vector<std::int64_t> rounded_up_shape(std::int64_t n, int factors);

}  // namespace shardmark::reference
