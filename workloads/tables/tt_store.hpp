// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/tables/shard_layout.hpp"
#include "workloads/tables/store.hpp"

namespace shardmark::workloads {

/// Storage::tt: rows are products of slices of a few small cores, contracted when they are looked up. A shard is a
/// whole table. shards: numbers in the layout; layout outlives the store. Tables whose direction is automatic are
/// contracted from the first core on: what a first batch decides is decided before (step/decide.hpp).
std::unique_ptr<Store> make_tt_store(const ShardLayout& layout, const std::vector<Table>& tables,
                                     const std::vector<std::int64_t>& shards);

/// Bytes of the cores of a table with their optimizer state and of its cache, whatever rows and columns are asked for.
double tt_store_bytes(const Table& table, std::int64_t rows, std::int64_t columns);

}  // namespace shardmark::workloads
