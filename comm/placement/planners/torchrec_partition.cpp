// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/planners/torchrec_partition.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace shardmark::placement {
namespace {

/// Finds which of some numbers is least, the first of equals, as they change.
class LeastOf {
 public:
  explicit LeastOf(std::size_t count) : leaves_(std::bit_ceil(count)), values_(count), least_(2 * leaves_, 0) {
    for (std::size_t i = 0; i < leaves_; ++i) least_[leaves_ + i] = std::min(i, count - 1);
    for (std::size_t node = leaves_ - 1; node > 0; --node) least_[node] = least_[2 * node];
  }
  double value(std::size_t i) const { return values_[i]; }
  const std::vector<double>& values() const { return values_; }
  std::size_t least() const { return least_[1]; }

  void add(std::size_t i, double amount) {
    values_[i] += amount;
    for (std::size_t node = (leaves_ + i) / 2; node > 0; node /= 2) {
      const std::size_t left = least_[2 * node], right = least_[2 * node + 1];
      least_[node] = values_[right] < values_[left] ? right : left;
    }
  }

  /// Returns the least for which accepted(i); values().size() where there is none.
  template <class Accepted>
  std::size_t least_where(const Accepted& accepted) const {
    if (accepted(least())) return least();
    std::size_t found = values_.size();
    for (std::size_t i = 0; i < values_.size(); ++i)
      if ((found == values_.size() || values_[i] < values_[found]) && accepted(i)) found = i;
    return found;
  }

 private:
  std::size_t leaves_;
  std::vector<double> values_;
  std::vector<std::size_t> least_;
};

class Partitioner {
 public:
  Partitioner(const TorchrecStep& step, double capacity)
      : ranks_(step.ranks),
        node_size_(step.node_size),
        nodes_(step.ranks / step.node_size),
        free_(static_cast<std::size_t>(step.ranks), capacity),
        by_place_(static_cast<std::size_t>(step.ranks)),
        by_node_(static_cast<std::size_t>(nodes_)) {
    for (int local = 0; local < node_size_; ++local)
      for (int rank = local; rank < ranks_; rank += node_size_) rank_at_.push_back(rank);
    place_of_.resize(rank_at_.size());
    for (std::size_t place = 0; place < rank_at_.size(); ++place) place_of_[rank_at_[place]] = place;
  }

  bool on_all(const TorchrecOption& option) {
    everywhere_ += option.seconds;
    for (int rank = 0; rank < ranks_; ++rank)
      if ((free_[rank] -= option.storage_of(rank)) < 0) return false;
    return true;
  }

  bool on_any(const TorchrecOption& option, std::vector<int>& ranks) {
    for (int shard = 0; shard < option.shards; ++shard) {
      const double storage = option.storage_of(shard);
      const std::size_t place = by_place_.least_where([&](std::size_t at) { return storage <= free_[rank_at_[at]]; });
      if (place == rank_at_.size()) return false;
      take(rank_at_[place], option.seconds, storage);
      ranks.push_back(rank_at_[place]);
    }
    return true;
  }

  bool on_node(const TorchrecOption& option, std::vector<int>& ranks) {
    std::vector<char> tried(static_cast<std::size_t>(nodes_));
    for (int attempt = 0; attempt < nodes_; ++attempt) {
      const std::size_t node = by_node_.least_where([&](std::size_t n) { return !tried[n]; });
      tried[node] = true;
      ranks = option.sharding == TorchrecSharding::table_row_wise ? all_of(static_cast<int>(node), option)
                                                                  : dealt(static_cast<int>(node), option);
      if (ranks.empty()) continue;
      for (std::size_t shard = 0; shard < ranks.size(); ++shard)
        take(ranks[shard], option.seconds, option.storage_of(static_cast<int>(shard)));
      return true;
    }
    return false;
  }

  double slowest() const { return everywhere_ + *std::ranges::max_element(by_place_.values()); }

 private:
  void take(int rank, double seconds, double storage) {
    free_[rank] -= storage;
    by_place_.add(place_of_[rank], seconds);
    if (rank / node_size_ < nodes_) by_node_.add(static_cast<std::size_t>(rank / node_size_), seconds);
  }

  /// Places one shard per rank of the node; none where one does not fit.
  std::vector<int> all_of(int node, const TorchrecOption& option) const {
    std::vector<int> ranks(static_cast<std::size_t>(node_size_));
    std::iota(ranks.begin(), ranks.end(), node * node_size_);
    for (int local = 0; local < node_size_; ++local)
      if (option.storage_of(local) > free_[ranks[local]]) return {};
    return ranks;
  }

  /// Places each shard on the rank of the node that is done first and has room; none where one fits on none.
  std::vector<int> dealt(int node, const TorchrecOption& option) const {
    std::vector<double> seconds, room;
    for (int rank = node * node_size_; rank < (node + 1) * node_size_; ++rank) {
      seconds.push_back(by_place_.value(place_of_[rank]));
      room.push_back(free_[rank]);
    }
    std::vector<int> ranks;
    for (int shard = 0; shard < option.shards; ++shard) {
      std::size_t first = seconds.size();
      for (std::size_t local = 0; local < seconds.size(); ++local)
        if (option.storage_of(shard) <= room[local] && (first == seconds.size() || seconds[local] < seconds[first]))
          first = local;
      if (first == seconds.size()) return {};
      seconds[first] += option.seconds;
      room[first] -= option.storage_of(shard);
      ranks.push_back(node * node_size_ + static_cast<int>(first));
    }
    return ranks;
  }

  int ranks_, node_size_, nodes_;
  double everywhere_ = 0.0;   ///< seconds of options that are on all ranks
  std::vector<double> free_;  ///< bytes, by rank
  std::vector<int> rank_at_;  ///< ranks in the order in which equals are taken: first those that lead their node
  std::vector<std::size_t> place_of_;
  LeastOf by_place_, by_node_;  ///< seconds of the other options
};

bool is_on_all(const TorchrecOption& option) {
  return option.sharding == TorchrecSharding::data_parallel || option.sharding == TorchrecSharding::row_wise;
}

}  // namespace

double torchrec_least_seconds(const std::vector<const TorchrecOption*>& options, const TorchrecStep& step) {
  double everywhere = 0.0, others = 0.0;
  for (const TorchrecOption* option : options)
    (is_on_all(*option) ? everywhere : others) += option->seconds * (is_on_all(*option) ? 1 : option->shards);
  return everywhere + others / step.ranks;
}

bool torchrec_partition(const std::vector<const TorchrecOption*>& options, const TorchrecStep& step, double capacity,
                        TorchrecPartition& partition) {
  Partitioner partitioner(step, capacity);
  partition.ranks.assign(options.size(), {});
  std::vector<std::size_t> others;
  for (std::size_t t = 0; t < options.size(); ++t) {
    if (!is_on_all(*options[t]))
      others.push_back(t);
    else if (!partitioner.on_all(*options[t]))
      return false;
  }
  std::ranges::stable_sort(others, std::ranges::greater(), [&](std::size_t t) { return options[t]->all_storage(); });
  for (const std::size_t t : others) {
    const bool anywhere =
        options[t]->sharding == TorchrecSharding::table_wise || options[t]->sharding == TorchrecSharding::column_wise;
    const bool placed = anywhere ? partitioner.on_any(*options[t], partition.ranks[t])
                                 : partitioner.on_node(*options[t], partition.ranks[t]);
    if (!placed) return false;
  }
  partition.seconds = partitioner.slowest();
  return true;
}

}  // namespace shardmark::placement
