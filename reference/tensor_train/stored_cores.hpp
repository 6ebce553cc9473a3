// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "reference/computed_rows.hpp"

namespace shardmark::reference {

/// Returns each core as a table of its own, whose rows are the slices: [p[t], slice_elements(t)] with the optimizer and
/// value type of the table. Training a tensor train means training these.
std::vector<Table> core_tables(const Table& table);

/// Returns [cores]: the slice of each core that a row is a product of (TensorTrainShape::digits), for some rows.
std::vector<std::vector<std::int64_t>> slices_of(const Table& table, std::span<const std::int64_t> rows);

/// Returns the rows of the cache as a table: fp32, with the optimizer of the table where they are trained.
Table cached_rows(const Table& table);

/// Makes a CachedTt.
std::unique_ptr<ComputedRows> computed_by_cores(const Table& table, std::int64_t number, const RowValues& initial);

/// Returns the flops of contracting so many distinct rows; where the direction is left open, those of the cheaper one.
LookupFlops contraction_flops(const Table& table, double rows);

/// Returns the number by which the generators of initial values and stochastic rounding know core t of table `table`.
constexpr std::int64_t core_number(std::int64_t table, int t) { return (std::int64_t{t} + 1) << 32 | table; }

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::core_number, reference::core_tables;
}  // namespace shardmark
