// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

namespace shardmark::placement {

/// Says on which node each rank is, and its number among the ranks of that node, in their order. It has no nodes where
/// nothing needs them.
class Nodes {
 public:
  Nodes() = default;
  /// node_of holds the node of each rank; nodes are numbered from 0.
  explicit Nodes(std::vector<int> node_of) : node_of_(std::move(node_of)) {
    for (int rank = 0; rank < static_cast<int>(node_of_.size()); ++rank) {
      if (node_of_[rank] >= count()) ranks_of_.resize(node_of_[rank] + 1);
      local_.push_back(static_cast<int>(ranks_of_[node_of_[rank]].size()));
      ranks_of_[node_of_[rank]].push_back(rank);
    }
  }

  int count() const { return static_cast<int>(ranks_of_.size()); }
  int of(int rank) const { return node_of_[rank]; }
  const std::vector<int>& ranks_of(int node) const { return ranks_of_[node]; }
  /// Returns the rank of a node that has the local number of `rank` on its own node.
  int counterpart(int node, int rank) const { return ranks_of_[node][local_[rank]]; }
  /// Returns whether there are several nodes of equally many ranks, several each, which Dedup::node needs.
  bool even() const {
    return count() > 1 && ranks_of_[0].size() > 1 &&
           std::ranges::all_of(ranks_of_, [&](const auto& ranks) { return ranks.size() == ranks_of_[0].size(); });
  }

 private:
  std::vector<int> node_of_, local_;
  std::vector<std::vector<int>> ranks_of_;
};

}  // namespace shardmark::placement
