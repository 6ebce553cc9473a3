// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/cost/step_cost.hpp"

namespace shardmark::placement {

/// Counts how many rows must come from memory in a step, because no cache holds them. A cache that keeps what was used
/// last holds a row if fewer than w samples (StepContext::cached_samples) have passed since its last use (Che, Tung,
/// Wang 2002). With D(n) distinct rows in n samples, steps of s samples, and k = min(1, w / s) of what a step uses kept
/// to the next use:
///   lookup   D(w + s) - D(w) for k = 1; else k of that and 1 - k of D(s). Bags are pooled table by table, so that no
///            other rows come between: only where the table's own rows fill the cache after v < s samples are D(s)
///            rows s D'(v)
///   update   (1 - k) D(s), of the rows that the lookup has read before it read those of other tables
///   state    which is used once in a step: k (D(w + s) - D(w)) + (1 - k) D(s)
/// Without w they are D(s), none and D(s).
struct FarRows {
  double lookup = 0.0, update = 0.0, state = 0.0;
};

/// Computes them for some rows of a table. share: of the samples of all ranks that look up here: 1 at an owner, 1 /
/// ranks in a replica; cache: bytes of a rank.
FarRows far_rows(const StepContext& step, std::int64_t table, const RowSet& rows, double share, double cache);

/// Returns the bytes of the pooled embeddings of so many samples.
double pooled_bytes(const StepContext& step, double samples);

/// Returns the share of that many bytes, used one after the other again and again, that a cache does not hold; 0
/// without a cache.
double share_beyond(double bytes, double cache);

/// Returns how many lines of 64 bytes a row of that many bytes touches, expected over the places that rows have in an
/// array of them.
double lines_of(std::int64_t bytes);

}  // namespace shardmark::placement
