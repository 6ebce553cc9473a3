// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/tables/shard_layout.hpp"
#include "workloads/tables/tensor_train/tt_report.hpp"

namespace shardmark::workloads {

/// Makes a store of Storage::tt: rows are products of slices of a few small cores, contracted when they are looked up.
/// A shard is a whole table. shards: numbers in the layout; layout outlives the store. Tables whose direction is
/// automatic are contracted from the first core on: what a first batch decides is decided before (step/decide.hpp).
std::unique_ptr<Store> make_tt_store(const ShardLayout& layout, const std::vector<Table>& tables,
                                     const std::vector<std::int64_t>& shards);

/// Returns the bytes of what the cache of a table keeps beside its rows and their state: which rows they are.
double tt_bytes_beside(const Table& table, std::int64_t rows, std::int64_t columns);

/// Returns the bytes of what a step makes for lookups in a table and their update, beside the ids, vectors and
/// gradients that any table has: the tree of prefixes, twice, contracted rows and their gradients, products between
/// them (within the budget of tensor_train.workspace_mib) and gradients of slices. ids: that the rank looks up;
/// distinct: different rows.
double tt_step_bytes(const Table& table, double ids, double distinct);

/// Returns whether the direction of contraction is open. Throws InputError where a direction is requested that cannot
/// be: slices that round stochastically are contracted from the first core on.
bool tt_direction_is_open(const Table& table);
/// Sets the direction that takes fewer flops for some distinct rows, ascending.
void set_tt_direction(Table& table, std::int64_t number, const std::vector<std::int64_t>& rows);

/// Returns the number of steps after which the cache of a table holds rows: those of its first choice.
std::int64_t steps_until_tt_is_warm(const Table& table, std::int64_t batches);

/// Returns a group `cores`, and the shape of the tensor train as attribute tensor_train of the table.
PartsDescription describe_cores(const Table& table);

}  // namespace shardmark::workloads
