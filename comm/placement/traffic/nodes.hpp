// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

namespace shardmark::placement {

/// Says on which node each rank is, and its number among the ranks of that node, in their order. It has no nodes where
/// nothing needs them. Copies share what it holds.
class Nodes {
 public:
  Nodes() = default;
  /// node_of holds the node of each rank; nodes are numbered from 0.
  explicit Nodes(std::vector<int> node_of) {
    Map map{.node_of = std::move(node_of)};
    for (int rank = 0; rank < static_cast<int>(map.node_of.size()); ++rank) {
      const auto node = static_cast<std::size_t>(map.node_of[rank]);
      if (node >= map.ranks_of.size()) map.ranks_of.resize(node + 1);
      map.local.push_back(static_cast<int>(map.ranks_of[node].size()));
      map.ranks_of[node].push_back(rank);
    }
    map_ = std::make_shared<const Map>(std::move(map));
  }

  /// Returns a node for each rank.
  static Nodes alone(int ranks) {
    std::vector<int> node_of(static_cast<std::size_t>(ranks));
    std::iota(node_of.begin(), node_of.end(), 0);
    return Nodes(std::move(node_of));
  }

  int count() const { return map_ ? static_cast<int>(map_->ranks_of.size()) : 0; }
  int ranks() const { return map_ ? static_cast<int>(map_->node_of.size()) : 0; }
  int of(int rank) const { return map_->node_of[rank]; }
  const std::vector<int>& ranks_of(int node) const { return map_->ranks_of[node]; }
  /// Returns the rank of a node that has the local number of `rank` on its own node, modulo the ranks of the node.
  int counterpart(int node, int rank) const {
    return ranks_of(node)[static_cast<std::size_t>(map_->local[rank]) % ranks_of(node).size()];
  }
  /// Returns whether there are several nodes of equally many ranks, several each, which Dedup::node needs.
  bool even() const {
    return count() > 1 && ranks_of(0).size() > 1 &&
           std::ranges::all_of(map_->ranks_of, [&](const auto& ranks) { return ranks.size() == ranks_of(0).size(); });
  }

 private:
  struct Map {
    std::vector<int> node_of, local = {};
    std::vector<std::vector<int>> ranks_of = {};
  };
  std::shared_ptr<const Map> map_;
};

/// Returns by node whether its ranks add their partial sums of some columns before these leave it
/// (RowTransfer::node_partials): several of them hold a shard, and none two. holders: ranks of the shards.
inline std::vector<bool> nodes_that_add(const Nodes& nodes, std::span<const int> holders) {
  std::vector<bool> add(static_cast<std::size_t>(nodes.count()));
  if (add.empty()) return add;
  std::vector<int> held(add.size());
  std::vector<bool> holds(static_cast<std::size_t>(nodes.ranks())), twice(add.size());
  for (const int holder : holders) {
    const auto node = static_cast<std::size_t>(nodes.of(holder));
    ++held[node];
    if (holds[static_cast<std::size_t>(holder)]) twice[node] = true;
    holds[static_cast<std::size_t>(holder)] = true;
  }
  for (std::size_t node = 0; node < add.size(); ++node) add[node] = held[node] > 1 && !twice[node];
  return add;
}

}  // namespace shardmark::placement
