// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark::placement {

/// How the ranks sum the gradients of data_parallel tables and of hot rows, of which each has a copy.
enum class ReplicatedGradients { dense, rows, automatic };

inline constexpr std::array replicated_gradients{
    Choice<ReplicatedGradients>{"dense", "all-reduce of the gradients of all rows", ReplicatedGradients::dense},
    Choice<ReplicatedGradients>{"rows",
                                "all-gather of the rows that ids name and of their gradients, added at every rank",
                                ReplicatedGradients::rows},
    Choice<ReplicatedGradients>{"auto", "for each table what sends fewer bytes in the first batch",
                                ReplicatedGradients::automatic},
};
constexpr auto choices_of(ReplicatedGradients) { return Choices{"replicated gradients", replicated_gradients}; }

/// What each rank sends to the next in a ring that sums so many fp32 values over all ranks: 2 (P - 1) / P of them,
/// rounded down for each table, so that sums do not depend on which tables share a ring. A table of N rows of d values
/// takes N (d + 1) values: with a row goes how many ranks named it.
constexpr std::int64_t ring_bytes(std::int64_t values, int ranks) { return 2 * (ranks - 1) * values * 4 / ranks; }

/// What a rank sends to each other rank for the `named` rows that its samples name: of each its id and gradient, and
/// how many there are.
constexpr double row_gradient_bytes(double named, std::int64_t dim) {
  return 8 + named * static_cast<double>(4 * dim + 4);
}

}  // namespace shardmark::placement
