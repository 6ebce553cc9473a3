// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/traffic/movement.hpp"
#include "kernels/row_partition.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/tables/shard_layout.hpp"

namespace shardmark::workloads {

/// A shard whose rows travel one by one (RowTransfer::unique_rows): all features of its table ask for them together.
struct RowShard {
  int rank = 0;
  std::int64_t local_shard = -1;  ///< its number among the local shards, on its own rank
  std::int64_t group = 0;         ///< rows of the same table and columns are one group
  std::int64_t dim = 0;
  std::int64_t first_key = 0;  ///< key of its row 0 among the rows of all row shards
};

/// The shards of a plan whose rows travel one by one, rank after rank, and the strips that read them.
struct RowShards {
  /// places [ranks]: the order of the ranks.
  RowShards(const ShardLayout& layout, const std::vector<Table>& tables, const std::vector<Feature>& features,
            const std::vector<placement::RowTransfer>& modes, const std::vector<int>& places);

  bool empty() const { return shards.empty(); }
  /// Numbers of the shards of a rank.
  std::pair<std::int64_t, std::int64_t> of_rank(int rank) const;

  std::vector<RowShard> shards;
  std::vector<std::int64_t> key_bounds;       ///< first_key of the shards, then `keys`
  ConstDeviceArray<std::int64_t> first_keys;  ///< of the shards
  std::vector<std::int64_t> strips;           ///< numbers in the layout
  std::vector<std::int64_t> group_of_strip;   ///< by place in `strips`
  std::int64_t groups = 0;
  std::int64_t keys = 0;
  std::int64_t largest_dim = 0;
  /// By place in `strips`, of rows counted from the first that is not hot; `slot`: number of the shard.
  kernels::RowOwners<Execution> owners;
};

}  // namespace shardmark::workloads
