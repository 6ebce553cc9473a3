// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/test/traffic_model.hpp"

#include <cmath>

namespace shardmark::placement {

TrafficModel::TrafficModel(const MovedPlan& moved, const Decisions& decided)
    : moved_(moved),
      decided_(decided),
      packing_(moved.packing(decided.dedup)),
      shards_(column_shards(moved)),
      traffic_(moved.plan.ranks) {
  const int ranks = moved_.plan.ranks;
  std::int64_t bytes = 0;
  for (std::size_t t = 0; t < moved_.tables.size(); ++t)
    if (!decided_.by_rows[t])
      bytes += ring_bytes(replicated_rows(moved_.plan.tables[t], moved_.tables[t]).count() * (moved_.tables[t].dim + 1),
                          ranks);
  for (int rank = 0; rank < ranks; ++rank) traffic_.update.add(rank, (rank + 1) % ranks, bytes);
}

void TrafficModel::add(const std::vector<RoundTrip>& trips) {
  for (const RoundTrip& trip : trips) {
    traffic_.input_dist.add(trip.home, trip.owner, std::llround(trip.requested));
    traffic_.output_dist.add(trip.owner, trip.home, std::llround(trip.vectors));
    traffic_.grad_dist.add(trip.home, trip.owner, std::llround(trip.gradients));
  }
}

void TrafficModel::add_home(int rank, const PlanCounts& counts) {
  for (const ColumnShards& shards : shards_)
    add(choice_of(decided_.transfer_of(shards.columns)).bytes(lookups_in(moved_, shards, rank, counts), packing_));
  for (std::size_t t = 0; t < moved_.tables.size(); ++t)
    for (int peer = 0; peer < moved_.plan.ranks; ++peer)
      if (has_replicas(moved_.plan.tables[t]) && decided_.by_rows[t])
        traffic_.update.add(rank, peer,
                            std::llround(row_gradient_bytes(counts[t].back().distinct_rows, moved_.tables[t].dim)));
}

void TrafficModel::add_node(int node, const PlanCounts& counts) {
  for (const ColumnShards& shards : shards_)
    if (decided_.dedup == Dedup::node && decided_.transfer_of(shards.columns) == RowTransfer::unique_rows)
      add(node_row_bytes(lookups_in(moved_, shards, moved_.nodes.ranks_of(node).front(), counts), packing_));
}

void TrafficModel::add_all(const PlanCounts& counts) {
  constexpr std::int64_t sum_bytes = 8;
  std::int64_t width = 0;
  for (std::size_t t = 0; t < moved_.tables.size(); ++t)
    width = std::max(width, exchanged_row_sums(moved_.tables[t], moved_.plan.tables[t]));
  for (std::size_t t = 0; t < moved_.tables.size(); ++t) {
    if (exchanged_row_sums(moved_.tables[t], moved_.plan.tables[t]) == 0) continue;
    const auto& shards = moved_.plan.tables[t].shards;
    for (std::size_t from = 0; from < shards.size(); ++from)
      for (const Shard& to : shards)
        if (to.rows == shards[from].rows && to.column_begin != shards[from].column_begin)
          traffic_.update.add(shards[from].rank, to.rank,
                              std::llround(static_cast<double>(width * sum_bytes) * counts[t][from].distinct_rows));
  }
}

}  // namespace shardmark::placement
