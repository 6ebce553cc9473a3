// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "reference/named.hpp"
#include "reference/storage.hpp"

namespace shardmark::placement {

/// Says how the ranks sum the gradients of data_parallel tables and of hot rows, of which each has a copy.
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

/// Returns the bytes that each rank sends to the next in a ring that sums that many fp32 values over all ranks: 2 (P -
/// 1) / P of them, rounded down for each table, so that sums do not depend on which tables share a ring. A table of N
/// rows of d values takes N (d + 1) values: each row is accompanied by the number of ids that named it.
constexpr std::int64_t ring_bytes(std::int64_t values, int ranks) { return 2 * (ranks - 1) * values * 4 / ranks; }

/// Counts the values of the sums of gradients of so many replicated rows of a table, or of all rows of the parts that
/// they are computed from: each row has dim of them, and a count.
inline double summed_values(const Table& table, std::int64_t rows) {
  const auto values = [](std::int64_t of_rows, std::int64_t dim) {
    return static_cast<double>(of_rows) * static_cast<double>(dim + 1);
  };
  const StorageChoice& storage = storage_of(table);
  if (!storage.computes()) return values(rows, table.dim);
  double sum = 0.0;
  for (const Table& part : storage.parts(table)) sum += values(part.rows, part.dim);
  return sum;
}

/// Returns the bytes that a rank sends to each other rank for the `named` rows that its samples name: the id and
/// gradient of each, and how many there are.
constexpr double row_gradient_bytes(double named, std::int64_t dim) {
  return 8 + named * static_cast<double>(4 * dim + 4);
}

}  // namespace shardmark::placement
