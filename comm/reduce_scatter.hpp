// SPDX-License-Identifier: Apache-2.0
// This header declares the reduce-scatter of partial sums. Its inverse, which carries the gradients, is all_gather_v of
// comm/collectives.hpp with the same counts: (send: counts[rank] values, receive: their sum over ranks).
#pragma once

#include <cstdint>
#include <span>

#include "comm/collectives.hpp"

namespace shardmark::comm {

/// Adds the ranks' `send` (sum of counts values: counts[0] for rank 0, then counts[1] for rank 1, ...) and stores on
/// rank r its counts[r] sums in `receive`. The counts are the same on all ranks. MPI chooses the order of the
/// additions: it depends on the number of ranks, the sizes and the MPI library, so that results are the same on every
/// plan only where all partial sums are exact. Above the count limit each rank's part is reduced in turn (MPI_Reduce).
/// Throws std::invalid_argument when a buffer is smaller than the counts, and MpiError. Collective.
void reduce_scatter(const Communicator& comm, std::span<const float> send, std::span<const std::int64_t> counts,
                    std::span<float> receive);

}  // namespace shardmark::comm
