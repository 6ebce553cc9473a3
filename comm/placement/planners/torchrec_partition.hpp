// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/placement/planners/torchrec_estimate.hpp"

namespace shardmark::placement {

/// A TorchrecOption is one way to shard one table. All shards take equally long, and equally much memory but for the
/// last one that is not empty.
struct TorchrecOption {
  TorchrecSharding sharding = TorchrecSharding::table_wise;
  double seconds = 0.0;       ///< that a shard takes of its rank
  int shards = 1;             ///< empty ones included; of data_parallel one per rank
  int full = 1;               ///< the first shards, of `storage` bytes each
  double storage = 0.0;       ///< bytes
  double last_storage = 0.0;  ///< bytes of shard number `full`, if there is one; those after it are empty

  double storage_of(int shard) const { return shard < full ? storage : shard == full ? last_storage : 0.0; }
  double all_storage() const { return full * storage + (full < shards ? last_storage : 0.0); }
};

/// Holds the ranks of a plan of options, one per table, and how long the slowest of them takes, its shards one after
/// the other.
struct TorchrecPartition {
  double seconds = 0.0;
  std::vector<std::vector<int>> ranks;  ///< [table][shard]; empty for row_wise and data_parallel, which are on all
};

/// Returns the seconds that the slowest rank takes at least, wherever shards go: the mean over the ranks.
double torchrec_least_seconds(const std::vector<const TorchrecOption*>& options, const TorchrecStep& step);

/// Deals shards as GreedyPerfPartitioner does (torchrec/distributed/planner/partitioners.py): first the options that
/// are on all ranks, then the others, those of most memory first: each shard of table_wise and column_wise to the rank
/// that is done first and has room (of equals to the lowest number within its node); table_row_wise and
/// table_column_wise on the node whose ranks take least in all and have room. Ranks of an incomplete last node are no
/// node. Returns false where something fits nowhere.
bool torchrec_partition(const std::vector<const TorchrecOption*>& options, const TorchrecStep& step, double capacity,
                        TorchrecPartition& partition);

}  // namespace shardmark::placement
