// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "comm/placement/cost/step_cost.hpp"

namespace shardmark::placement {

/// The shards of a placement that have the same columns, by first and last column.
using ShardsByColumns = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const Shard*>>;
ShardsByColumns shards_by_columns(const TablePlacement& placement);

/// What so many samples look up in shards of the same columns.
HomeLookups home_lookups(const StepContext& step, std::int64_t table, const std::vector<const Shard*>& shards,
                         std::int64_t samples);

/// How ids and vectors of a table are written for their way. dedup: not automatic.
Packing packing_of(const StepContext& step, std::int64_t table, const TablePlacement& placement);

/// What travels of rows that are split, of those that ids of a table's features name; own: what one home looks up in
/// each shard. transfer auto: what decisions.hpp makes of these counts, homes being alike.
RowTransfer transfer_of(const StepContext& step, std::int64_t table, const HomeLookups& own, const Packing& packing);

/// Whether the gradients of a replicated table travel by rows; named: different rows that the samples of a rank name.
bool gradients_by_rows(const StepContext& step, std::int64_t rows, std::int64_t dim, double named);

}  // namespace shardmark::placement
