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

/// Returns the nodes of the ranks of a step: neighbours by number.
Nodes nodes_of(const StepContext& step);

/// Holds what the ranks of all nodes exchange with the owners of rows, by the node of the owner: all homes are alike.
class NodeTraffic {
 public:
  explicit NodeTraffic(Nodes nodes)
      : nodes_(std::move(nodes)), to_owners_(nodes_.count()), from_owners_(nodes_.count()) {}

  /// Adds the trips of `home`, of which every node has `homes` like it. Trips of other ranks stay inside a node.
  void add(const std::vector<RoundTrip>& trips, int home, int homes);
  /// Returns the bytes that leave the busiest node.
  double busiest() const;

 private:
  Nodes nodes_;
  std::vector<double> to_owners_, from_owners_;
};

/// Says how ids and vectors of a table are encoded for the wire. dedup: not automatic.
Packing packing_of(const StepContext& step, std::int64_t table, const TablePlacement& placement);

/// Returns the transfer of rows that are split, for those that ids of a table's features name; own: what one home looks
/// up in each of the shards. For transfer auto it decides like decisions.hpp from these counts, with all homes alike.
RowTransfer transfer_of(const StepContext& step, std::int64_t table, const std::vector<const Shard*>& shards,
                        const HomeLookups& own, const Packing& packing);

/// Adds what these shards send between nodes with that transfer.
void add_between_nodes(const StepContext& step, std::int64_t table, const std::vector<const Shard*>& shards,
                       const HomeLookups& own, const Packing& packing, RowTransfer transfer, NodeTraffic& traffic);

/// Returns whether the gradients of a replicated table travel by rows; named: distinct rows that the samples of a rank
/// name.
bool gradients_by_rows(const StepContext& step, std::int64_t rows, std::int64_t dim, double named);

}  // namespace shardmark::placement
