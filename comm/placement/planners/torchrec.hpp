// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark::placement {

/// Returns the placements that TorchRec's EmbeddingShardingPlanner would choose (torchrec/distributed/planner at
/// a48cef7, 2025-10), by its own estimate (torchrec_estimate.hpp), not by ours. Each table's shardings are sorted by
/// what their slowest shard takes; the first proposal takes the first of each, every further one the next sharding of
/// the table whose largest shard takes most memory (GreedyProposer). Such proposals are made again with shardings
/// sorted by what all shards take together; and one for each sharding that all tables can have (UniformProposer).
/// torchrec_partition.hpp deals each proposal; the one whose slowest rank takes least is taken. TorchRec's grid search
/// over small workloads is left out. Of request.memory, `reserve` is kept free, and 6 x dense_bytes and 20 x the ids of
/// a rank; a proposal that does not fit is passed over. Tensor trains are not split. Throws InputError where nothing
/// fits.
std::vector<TablePlacement> place_torchrec(std::span<const Table> tables, std::span<const Feature> features,
                                           const PlanRequest& request);

/// Returns the seconds of a plan by TorchRec's estimate (torchrec_estimate.hpp), under the settings of the planner:
/// those of the slowest rank, of which each shard adds its total. Rows modulo ranks take as long as blocks of them.
/// Nothing where TorchRec shards a table in no such way.
std::optional<double> torchrec_seconds(const Plan& plan, std::span<const Table> tables,
                                       std::span<const Feature> features, const PlanRequest& request);

inline constexpr std::array torchrec_settings{
    PlannerSetting{"device", "cuda", "where tables are: cuda, at `hbm`; or cpu, at `ddr`"},
    PlannerSetting{"hbm", "897", "GiB/s of a rank's device memory"},
    PlannerSetting{"ddr", "51", "GiB/s of a rank's host memory"},
    PlannerSetting{"intra", "600", "GiB/s of a rank to others of its node"},
    PlannerSetting{"inter", "12.5", "GiB/s of a rank to other nodes"},
    PlannerSetting{"batch", "", "samples of a rank; off: those of the step"},
    PlannerSetting{"pooling_factor", "", "ids per bag of every feature; off: as the workload says (TorchRec: 1)"},
    PlannerSetting{"half_block", "1.15", "penalty for 64 to 127 columns"},
    PlannerSetting{"quarter_block", "1.75", "penalty for fewer than 64 columns"},
    PlannerSetting{"backward", "2", "time of the backward computation over the forward one"},
    PlannerSetting{"copy", "2.455", "passes over memory of gradients that are gathered for shards by rows"},
    PlannerSetting{"elementwise", "9.22", "passes over memory of a replicated table that is updated"},
    PlannerSetting{"least_columns", "128", "columns of a block at least"},
    PlannerSetting{"reserve", "0.15", "share of the memory that is kept free"},
    PlannerSetting{"dense_bytes", "0", "bytes of dense parameters, of which six times are kept free"},
    PlannerSetting{"proposals", "10000", "that each of the two greedy proposers makes at most"},
};

}  // namespace shardmark::placement
