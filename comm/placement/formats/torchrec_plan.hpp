// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// Writes a sharding plan of TorchRec as JSON (ShardingPlan._serialize of torchrec/distributed/types.py at a48cef7,
/// 2025-10), with the number of ranks, which TorchRec's lacks:
///   {"world_size": 2, "plan": {"embedding_bag_collection": {
///     "A": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1]},
///     "B": {"sharding_type": "row_wise", "compute_kernel": "fused", "ranks": [0, 1], "shards": [
///       {"shard_offsets": [0, 0], "shard_sizes": [4, 8], "placement": "rank:0/cpu"},
///       {"shard_offsets": [4, 0], "shard_sizes": [3, 8], "placement": "rank:1/cpu"}]}}}}
/// Offsets and sizes are in rows and columns. The device in a placement has no meaning here; to use the file with
/// TorchRec on GPUs, replace "cpu" by "cuda:N". Sharding types are table_wise, column_wise; row_wise, a block on every
/// rank in order, with blocks of size 0 where rows are too few; table_row_wise, a block on each of several neighbours,
/// which in TorchRec are the ranks of a node; grid_shard, blocks of columns each by rows on as many neighbours. Throws
/// InputError naming the table where TorchRec has no such sharding: rows modulo a number, blocks of rows elsewhere or
/// other than row_block(), blocks of columns that are no multiples of 4 or on one rank unequal, hot rows.
std::string plan_to_torchrec(const Plan& plan, std::span<const Table> tables);

/// Returns whether a document is a plan of TorchRec: as above, or the modules alone, as TorchEasyRec writes them into
/// the file `plan` of a checkpoint (tzrec/utils/checkpoint_util.py at 54cac31, 2026-08), without shards:
///   {"embedding_group.ebc": {"B": {"sharding_type": "row_wise", "compute_kernel": "fused", "ranks": [0, 1]}}}
bool is_torchrec_plan(const nlohmann::ordered_json& document);

/// Reads the plan, called `name`, of one module or several; it has as many ranks as world_size says, else as the
/// highest rank named. A table that is not data_parallel is placed by its "shards", whatever the sharding type; empty
/// ones are left out. Where there are no shards, they follow from the sharding type and the ranks: blocks of rows by
/// row_block(), equal blocks of columns. Throws InputError naming `origin` (the file), table and shard where the text
/// is not as above, does not place every table once, or does not say the shards (grid_shard, kernels of others).
Plan plan_from_torchrec(std::string_view text, std::string_view origin, std::string_view name,
                        std::span<const Table> tables);

}  // namespace shardmark::placement
