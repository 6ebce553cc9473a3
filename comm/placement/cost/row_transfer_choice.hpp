// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "comm/placement/cost/step_cost.hpp"

namespace shardmark::placement {

/// Holds the shards of a placement that have the same columns, by first and last column.
using ShardsByColumns = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const Shard*>>;
ShardsByColumns shards_by_columns(const TablePlacement& placement);

/// Returns what that many samples look up in shards of the same columns.
HomeLookups home_lookups(const StepContext& step, std::int64_t table, const std::vector<const Shard*>& shards,
                         std::int64_t samples);

/// Says how ids and vectors of a table are encoded for the wire. dedup: not automatic.
Packing packing_of(const StepContext& step, std::int64_t table, const TablePlacement& placement);

/// Returns the transfer of rows that are split, for those that ids of a table's features name; own: what one home looks
/// up in each shard. For transfer auto it decides like decisions.hpp from these counts, with all homes alike.
RowTransfer transfer_of(const StepContext& step, std::int64_t table, const HomeLookups& own, const Packing& packing);

/// Returns whether the gradients of a replicated table travel by rows; named: distinct rows that the samples of a rank
/// name.
bool gradients_by_rows(const StepContext& step, std::int64_t rows, std::int64_t dim, double named);

}  // namespace shardmark::placement
