// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "comm/placement/cost/table_sums.hpp"
#include "comm/placement/traffic/nodes.hpp"

namespace shardmark::placement {

/// Counts who sends the partial sums of a strip, the shards of one range of columns, to a home: nodes that add those of
/// their ranks (RowTransfer::node_partials), and shards whose owners send theirs alone.
struct SumSenders {
  int nodes = 0;
  int alone = 0;

  auto operator<=>(const SumSenders&) const = default;
};

/// Holds the work of a strip by who does it, whichever ranks the owners of its shards are.
template <class Work>
struct StripParts {
  Work everywhere{};             ///< on every rank
  std::vector<Work> alone{};     ///< by owner: one that sends what its shards hold itself
  std::vector<Work> in_node{};   ///< by owner: one whose node adds its partial sums; of node_partials alone
  std::vector<Work> rails{};     ///< by owner: what it is to each rank of its number on its node; of dedup node alone
  std::array<Work, 2> adders{};  ///< each rank of a node that adds; of the last node, which may have fewer ranks
  StepTotals totals = {};

  bool operator==(const StripParts&) const = default;
};

/// Adds the parts of a strip to the ranks of its owners, those of their nodes and their rails, by add(rank, part).
/// adds: by node, empty where none adds. The part of every rank is left to the caller.
template <class Work, class Add>
void add_to_ranks(const StripParts<Work>& parts, const Nodes& nodes, std::span<const int> owners,
                  const std::vector<bool>& adds, const Add& add) {
  for (std::size_t k = 0; k < owners.size(); ++k) {
    const bool added = !adds.empty() && adds[static_cast<std::size_t>(nodes.of(owners[k]))];
    add(owners[k], added ? parts.in_node[k] : parts.alone[k]);
    for (int node = 0; node < nodes.count() && !parts.rails.empty(); ++node)
      add(nodes.counterpart(node, owners[k]), parts.rails[k]);
  }
  for (int node = 0; node < static_cast<int>(adds.size()); ++node)
    for (const int rank : nodes.ranks_of(node))
      if (adds[static_cast<std::size_t>(node)]) add(rank, parts.adders[node + 1 == nodes.count() ? 1 : 0]);
}

/// Says who owns the shards of a strip: different ranks in the order of their first shards, and which of them has which
/// shard.
struct StripOwners {
  std::vector<int> ranks;
  std::vector<std::size_t> of_shard;

  explicit StripOwners(const std::vector<const Shard*>& shards);
};

/// Returns the parts of the work of a strip that travels by that transfer, where that many send its partial sums.
StripParts<RankWork> strip_parts(const TableSums& sums, const std::vector<const Shard*>& shards, RowTransfer transfer,
                                 const SumSenders& senders);

/// Returns who sends them where shards are on these ranks. adds: by node (nodes_that_add()).
SumSenders senders_of(const Nodes& nodes, std::span<const int> shard_ranks, const std::vector<bool>& adds);

/// Returns the work of a table but that of its strips: copies of its rows, what its shards store, sums over whole rows.
/// (table_work.cpp)
TableWork work_without_strips(const TableSums& sums);

}  // namespace shardmark::placement
