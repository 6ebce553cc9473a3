// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
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

/// Holds the bytes that the homes of one node, or those that request for it, exchange with the owner of a shard.
struct ShardFlow {
  double requested = 0.0;  ///< of ids, to the owner
  double vectors = 0.0;    ///< from the owner
  double gradients = 0.0;  ///< to the owner

  bool operator==(const ShardFlow&) const = default;
};

/// Adds up what nodes exchange with the owners of rows, by the node of the owner: all homes are alike.
class NodeTraffic {
 public:
  explicit NodeTraffic(int nodes = 0)
      : to_owners_(static_cast<std::size_t>(nodes)), from_owners_(static_cast<std::size_t>(nodes)) {}

  /// Adds the flows of shards of the same columns, whose owners are on these nodes. adds: nodes whose ranks add their
  /// partial sums (nodes_that_add()), each of which exchanges the vectors of one shard.
  void add(std::span<const ShardFlow> flows, std::span<const int> nodes, const std::vector<bool>& adds);
  /// Returns the bytes that leave the busiest node.
  double busiest() const;
  /// Forgets what was added.
  void clear();

 private:
  std::vector<double> to_owners_, from_owners_;
};

/// Says how ids and vectors of a table are encoded for the wire. dedup: not automatic.
Packing packing_of(const StepContext& step, std::int64_t table, const TablePlacement& placement);

/// Returns the transfer of rows that are split, for those that ids of a table's features name; own: what one home looks
/// up in each of the shards. For transfer auto it decides like decisions.hpp from these counts, with all homes alike.
RowTransfer transfer_of(const StepContext& step, std::int64_t table, const std::vector<const Shard*>& shards,
                        const HomeLookups& own, const Packing& packing);

/// Returns what these shards exchange with a node by that transfer, of one that has no reduction.
std::vector<ShardFlow> shard_flows(const StepContext& step, std::int64_t table, const std::vector<const Shard*>& shards,
                                   const HomeLookups& own, const Packing& packing, RowTransfer transfer);

/// Returns whether features of a table pool by max.
bool pools_by_max(const StepContext& step, std::int64_t table);

/// Adds what they send between nodes, for so many tables like this one.
void add_between_nodes(const StepContext& step, std::int64_t table, const std::vector<const Shard*>& shards,
                       const HomeLookups& own, const Packing& packing, RowTransfer transfer, NodeTraffic& traffic,
                       std::int64_t tables = 1);

/// Returns whether the gradients of a replicated table travel by rows; named: distinct rows that the samples of a rank
/// name.
bool gradients_by_rows(const StepContext& step, std::int64_t rows, std::int64_t dim, double named);

}  // namespace shardmark::placement
