// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/planners/hugectr_auto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "comm/placement/planners/modulo_split.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

/// Holds what one sample, or memory, needs from a table.
struct TableDemand {
  double looked_up = 0.0;  ///< values: sum of hotness x dim
  double sent = 0.0;       ///< values: sum of vectors x dim
  double bytes = 0.0;      ///< rows and state
};

std::vector<TableDemand> table_demands(std::span<const Table> tables, std::span<const Feature> features) {
  std::vector<TableDemand> demands;
  for (const Table& table : tables)
    demands.push_back({.bytes = static_cast<double>(load_of(whole(table, 0), table).bytes())});
  for (const Feature& feature : features) {
    const auto dim = static_cast<double>(tables[feature.table].dim), hotness = static_cast<double>(feature.hotness);
    demands[feature.table].looked_up += hotness * dim;
    demands[feature.table].sent += static_cast<double>(bags_per_sample(feature)) * dim;
  }
  return demands;
}

/// Holds what looking up and sending a value of all samples costs.
struct Prices {
  double lookup = 0.0;
  double send = 0.0;

  double of(double looked_up, double sent) const { return lookup * looked_up + send * sent; }
};

/// Ranks that share tables, and their prices.
struct Bucket {
  std::vector<int> ranks;
  Prices prices;
  double capacity = std::numeric_limits<double>::infinity();  ///< bytes, of all its ranks
};

/// A Candidate is a plan: for each table the buckets that it is on, and the cost of the costliest bucket.
struct Candidate {
  double cost = 0.0;
  std::vector<std::vector<std::size_t>> buckets_of;
};

class Halving {
 public:
  /// `prices` decide the order of the shards; `placed` are the tables to place.
  Halving(std::vector<TableDemand> demands, std::vector<std::size_t> placed, const Prices& prices,
          std::vector<Bucket> buckets)
      : demands_(std::move(demands)),
        prices_(prices),
        buckets_(std::move(buckets)),
        shards_(demands_.size(), 1),
        order_(std::move(placed)) {
    sort_shards();
  }

  /// Places every table on every bucket. Throws InputError where that does not fit: no plan does then.
  Candidate everywhere() const {
    Candidate candidate{0.0, std::vector<std::vector<std::size_t>>(demands_.size())};
    TableDemand all;
    for (const std::size_t t : order_) {
      all.looked_up += demands_[t].looked_up / static_cast<double>(buckets_.size());
      all.sent += demands_[t].sent;
      all.bytes += demands_[t].bytes / static_cast<double>(buckets_.size());
      candidate.buckets_of[t].resize(buckets_.size());
      std::iota(candidate.buckets_of[t].begin(), candidate.buckets_of[t].end(), 0);
    }
    for (const Bucket& bucket : buckets_) {
      candidate.cost = std::max(candidate.cost, bucket.prices.of(all.looked_up, all.sent));
      if (all.bytes > bucket.capacity)
        throw InputError(
            fmt::format("the tables do not fit: split over all ranks, their rows and state take {:.0f} bytes "
                        "of a rank, which has {:.0f} beside its copies of small tables; give it more "
                        "memory, or more ranks",
                        all.bytes / static_cast<double>(bucket.ranks.size()),
                        bucket.capacity / static_cast<double>(bucket.ranks.size())));
    }
    return candidate;
  }

  Candidate best(std::int64_t iterations) {
    Candidate best = everywhere();
    for (std::int64_t i = 0; i < iterations; ++i) {
      Candidate next{0.0, std::vector<std::vector<std::size_t>>(demands_.size())};
      const auto homeless = place(next);
      if (homeless && !cut(*homeless)) break;
      if (homeless) continue;
      if (next.cost < best.cost) best = std::move(next);
      cut_hottest();
    }
    return best;
  }

 private:
  double looked_up(std::size_t t) const { return demands_[t].looked_up / static_cast<double>(shards_[t]); }
  double shard_cost(std::size_t t, const Prices& prices) const { return prices.of(looked_up(t), demands_[t].sent); }

  /// Sorts tables by the cost of a shard, the costliest first; of equals, the later first.
  void sort_shards() {
    std::ranges::stable_sort(order_, {}, [this](std::size_t t) { return shard_cost(t, prices_); });
    std::ranges::reverse(order_);
  }

  /// Adds the shards in order to the cheapest buckets; returns the first table that finds none.
  std::optional<std::size_t> place(Candidate& candidate) const {
    std::vector<double> costs(buckets_.size()), bytes(buckets_.size());
    for (const std::size_t t : order_) {
      const double size = demands_[t].bytes / static_cast<double>(shards_[t]);
      auto& taken = candidate.buckets_of[t];
      std::optional<std::size_t> cheapest;
      for (std::size_t b = 0; b < buckets_.size(); ++b)
        if ((!cheapest || costs[b] < costs[*cheapest]) && bytes[b] + size <= buckets_[b].capacity &&
            std::ranges::find(taken, b) == taken.end())
          cheapest = b;
      if (!cheapest) return t;
      taken.push_back(*cheapest);
      costs[*cheapest] += shard_cost(t, buckets_[*cheapest].prices);
      bytes[*cheapest] += size;
    }
    candidate.cost = *std::ranges::max_element(costs);
    return std::nullopt;
  }

  bool cut(std::size_t t) {
    if (shards_[t] * 2 > buckets_.size()) return false;
    shards_[t] *= 2;
    std::erase(order_, t);
    order_.insert(order_.end(), shards_[t], t);
    sort_shards();
    return true;
  }

  void cut_hottest() {
    constexpr double sending = 80.0;
    auto hottest = order_;
    std::ranges::stable_sort(hottest, {}, [&](std::size_t t) { return looked_up(t) + sending * demands_[t].sent; });
    for (auto t = hottest.rbegin(); t != hottest.rend(); ++t)
      if (cut(*t)) return;
  }

  std::vector<TableDemand> demands_;
  Prices prices_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> shards_;  ///< by table
  std::vector<std::size_t> order_;   ///< a table's number for each of its shards
};

/// Returns the prices of a rank.
Prices prices_of(const PlanRequest& request) {
  const auto samples = static_cast<double>(request.global_batch);
  return {samples * request.settings.number("work"), samples * request.settings.number("ratio")};
}

/// Places tables in buckets. buckets: their ranks, and their prices over those of a rank.
std::vector<TablePlacement> place_in_buckets(std::span<const Table> tables, std::span<const Feature> features,
                                             const PlanRequest& request, std::vector<Bucket> buckets) {
  const auto demands = table_demands(tables, features);
  const double replicated_below = 1e9 * request.settings.number("dp_threshold");
  double replicated = 0.0;
  std::vector<std::size_t> placed;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (demands[t].bytes < replicated_below)
      replicated += demands[t].bytes;
    else
      placed.push_back(t);
  }
  const Prices prices = prices_of(request);
  for (Bucket& bucket : buckets) {
    bucket.prices.lookup *= prices.lookup;
    bucket.prices.send *= prices.send;
    if (request.memory)
      bucket.capacity = (static_cast<double>(*request.memory) - replicated) * static_cast<double>(bucket.ranks.size());
  }
  Candidate best = Halving(demands, placed, prices, buckets).best(request.settings.whole("iterations"));

  std::vector<TablePlacement> placements(tables.size(), {.data_parallel = true, .shards = {}});
  for (const std::size_t t : placed) {
    std::ranges::sort(best.buckets_of[t]);
    std::vector<int> holders;
    for (const std::size_t b : best.buckets_of[t])
      holders.insert(holders.end(), buckets[b].ranks.begin(), buckets[b].ranks.end());
    placements[t] = split_modulo(tables[t], holders);
  }
  return placements;
}

}  // namespace

std::vector<TablePlacement> place_hugectr_auto(std::span<const Table> tables, std::span<const Feature> features,
                                               const PlanRequest& request) {
  std::vector<Bucket> buckets;
  for (int rank = 0; rank < request.ranks; ++rank) buckets.push_back({.ranks = {rank}, .prices = {1.0, 1.0}});
  return place_in_buckets(tables, features, request, std::move(buckets));
}

std::optional<double> hugectr_cost(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                                   const PlanRequest& request) {
  const auto demands = table_demands(tables, features);
  const Prices prices = prices_of(request);
  std::vector<double> of_ranks(static_cast<std::size_t>(plan.ranks));
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const TablePlacement& placement = plan.tables[t];
    if (placement.data_parallel) continue;
    if (placement.hot_rows > 0 || placement.storage) return std::nullopt;
    for (const Shard& shard : placement.shards) {
      const double columns = static_cast<double>(shard.columns()) / static_cast<double>(tables[t].dim);
      const auto parts = std::ranges::count_if(
          placement.shards, [&](const Shard& other) { return other.column_begin == shard.column_begin; });
      of_ranks[static_cast<std::size_t>(shard.rank)] +=
          prices.of(columns * demands[t].looked_up / static_cast<double>(parts), columns * demands[t].sent);
    }
  }
  return std::ranges::max(of_ranks);
}

std::vector<TablePlacement> place_hugectr_hier_auto(std::span<const Table> tables, std::span<const Feature> features,
                                                    const PlanRequest& request) {
  std::vector<Bucket> buckets;
  for (auto& ranks : ranks_by_node(request)) {
    const auto size = static_cast<double>(ranks.size());
    buckets.push_back({.ranks = std::move(ranks), .prices = {1.0 / size, 1.5 / size}});
  }
  return place_in_buckets(tables, features, request, std::move(buckets));
}

}  // namespace shardmark::placement
