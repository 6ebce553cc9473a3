// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark {

/// How the ranks sum the gradients of data_parallel tables, of which each has a copy.
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

/// Whether a table of N rows of d values, of which the rank with most names U in a step, sends fewer bytes by rows, or
/// as few. With P ranks the rank that sends most sends
///   rows   (P - 1) (U (4 d + 4) + 8)       a row's gradient and id, and how many there are, to every other rank
///   dense  2 (P - 1) / P N (4 d + 4)       a ring; with a row goes the number of ranks that named it
/// so that they cross at N* = P U / 2, but for the 8 bytes.
constexpr bool fewer_bytes_by_rows(std::int64_t rows, std::int64_t dim, int ranks, std::int64_t most_named) {
  const std::int64_t row_bytes = 4 * dim + 4;
  return ranks * (most_named * row_bytes + 8) <= 2 * rows * row_bytes;
}

}  // namespace shardmark
