// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark {

/// How the ranks sum the gradients of data_parallel tables, of which each has a copy.
enum class ReplicatedGradients { dense, rows, automatic };

struct ReplicatedGradientsChoice {
  std::string_view name;
  std::string_view description;
  ReplicatedGradients value;
};

inline constexpr std::array replicated_gradients{
    ReplicatedGradientsChoice{"dense", "all-reduce of the gradients of all rows", ReplicatedGradients::dense},
    ReplicatedGradientsChoice{"rows",
                              "all-gather of the rows that ids name and of their gradients, added at every rank",
                              ReplicatedGradients::rows},
    ReplicatedGradientsChoice{"auto", "for each table what sends fewer bytes in the first batch",
                              ReplicatedGradients::automatic},
};

inline ReplicatedGradients replicated_gradients_named(std::string_view name) {
  return choice_named(replicated_gradients, "way of replicated gradients", name).value;
}
constexpr std::string_view name_of(ReplicatedGradients how) {
  return replicated_gradients[static_cast<std::size_t>(how)].name;
}

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
