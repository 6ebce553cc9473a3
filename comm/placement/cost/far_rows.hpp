// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/cost/step_cost.hpp"

namespace shardmark::placement {

/// Counts how many different rows must come from memory in a step, because no cache holds them. A cache that keeps what
/// was used last holds a row if fewer than w samples (StepContext::cached_samples) have passed since its last use (Che,
/// Tung, Wang 2002). With D(n) distinct rows in n samples and steps of s samples:
///   lookup   s D'(w) for w < s, about s (D(w + h) - D(w)) / h; D(w + s) - D(w) else
///   update   of the rows, which the lookup has just read: D(s) - D(min(w, s))
///   state    which is used once in a step: D(s) for w < s, D(w + s) - D(w) else
/// Without w they are D(s), none and D(s).
struct FarRows {
  double lookup = 0.0, update = 0.0, state = 0.0;
};

/// Computes them for some rows of a table. share: of the samples of all ranks that look up here: 1 at an owner, 1 /
/// ranks in a replica.
FarRows far_rows(const StepContext& step, std::int64_t table, const RowSet& rows, double share);

/// Returns the share of that many bytes, used one after the other again and again, that a cache does not hold; 0
/// without a cache.
double share_beyond(double bytes, double cache);

/// Returns how many lines of 64 bytes a row of that many bytes touches, expected over the places that rows have in an
/// array of them.
double lines_of(std::int64_t bytes);

}  // namespace shardmark::placement
