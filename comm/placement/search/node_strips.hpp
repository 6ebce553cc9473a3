// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "comm/placement/cost/strip_work.hpp"
#include "comm/placement/search/rank_sums.hpp"
#include "comm/placement/search/table_options.hpp"

namespace shardmark::placement {

/// Holds a strip of an option whose seats have ranks.
struct PlacedStrip {
  const StripParts<RankSums>* parts;  ///< by seats with shards of it; valid as long as the NodeStrips
  std::vector<int> owners;            ///< ranks of these seats
  std::vector<bool> adds;             ///< nodes that add its partial sums; empty where none does
};

/// Holds what the work of a strip may be: that many nodes add its partial sums, and so many owners, if each has one
/// shard, send theirs alone.
struct StripCase {
  const StripParts<RankSums>* parts;
  int adding = 0, alone = 0;
};

/// Holds the strips of an option whose work depends on the nodes of its seats: because nodes add partial sums, request
/// rows together, or because transfer auto picks by what leaves nodes. It has none where that is the same on any ranks.
class NodeStrips {
 public:
  NodeStrips() = default;
  /// step: settled; it and the machine outlive the object.
  NodeStrips(const StepContext& step, const MachineModel& machine, std::int64_t table, const TablePlacement& seats);

  bool empty() const { return strips_.empty(); }
  /// Returns the strips with seat s on rank ranks[s].
  std::vector<PlacedStrip> placed(std::span<const int> ranks) const;
  /// Returns, by strip, cases of which one takes no more than the strip does on whatever ranks its seats have: every
  /// transfer that it may have; of node_partials, whose work is linear in how many nodes add and how many owners send
  /// their sums alone, the corners of what these may be.
  std::vector<std::vector<StripCase>> cheapest_cases() const;

  /// Returns whether two have the same work on the same ranks.
  bool operator==(const NodeStrips& other) const;

 private:
  struct Travel {
    RowTransfer transfer = RowTransfer::dense_partials;
    std::vector<ShardFlow> flows;  ///< by shard; only where there are several transfers to pick from
    mutable std::map<SumSenders, StripParts<RankSums>> known;
  };
  struct Strip {
    std::vector<const Shard*> shards;
    StripOwners seats;
    std::vector<Travel> travels;  ///< transfers that it may have
  };

  const StripParts<RankSums>& parts(const Strip& strip, const Travel& travel, const SumSenders& senders) const;
  const Travel& cheapest(const Strip& strip, std::span<const int> nodes, const std::vector<bool>& adds) const;

  const StepContext* step_ = nullptr;
  const MachineModel* machine_ = nullptr;
  std::int64_t table_ = 0;
  std::shared_ptr<const TablePlacement> seats_;  ///< whose shards the strips have
  std::vector<Strip> strips_;
  mutable NodeTraffic traffic_;  ///< of the transfer that is looked at
};

}  // namespace shardmark::placement
