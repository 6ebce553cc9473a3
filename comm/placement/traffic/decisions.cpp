// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/traffic/decisions.hpp"

namespace shardmark::placement {
namespace {

std::vector<ColumnShards> row_split_columns(const MovedPlan& moved) {
  auto splits = column_shards(moved);
  std::erase_if(splits, [](const ColumnShards& shards) { return !shards.row_split(); });
  return splits;
}

}  // namespace

RowTransfer Decisions::transfer_of(const TableColumns& columns) const {
  const auto split = std::ranges::lower_bound(splits, columns, {}, &Split::columns);
  return split != splits.end() && split->columns == columns ? split->transfer : RowTransfer::dense_partials;
}

DecisionBytes::DecisionBytes(const MovedPlan& moved)
    : moved_(moved),
      splits_(row_split_columns(moved)),
      chooses_transfer_(!splits_.empty() && moved.movement.transfer == RowTransfer::automatic),
      chooses_dedup_(moved.movement.dedup == Dedup::automatic && moved.nodes.even() && !splits_.empty() &&
                     (chooses_transfer_ || moved.movement.transfer == RowTransfer::unique_rows)),
      chooses_gradients_(moved.movement.replicated_gradients == ReplicatedGradients::automatic &&
                         std::ranges::any_of(moved.plan.tables, has_replicas)),
      packing_(moved.packing(while_undecided(moved.movement.dedup))) {
  if (chooses_transfer_ || chooses_dedup_ || chooses_gradients_) sums_.resize(of_table(std::ssize(moved_.tables)));
}

std::int64_t DecisionBytes::of_transfer(std::int64_t split, RowTransfer transfer) const {
  return (split * std::ssize(transfers) + static_cast<std::int64_t>(transfer)) * moved_.plan.ranks;
}

std::int64_t DecisionBytes::of_dedup(std::int64_t split, bool by_node) const {
  return of_transfer(std::ssize(splits_), RowTransfer{}) + (2 * split + by_node) * moved_.nodes.count();
}

std::int64_t DecisionBytes::of_table(std::int64_t table) const {
  return of_dedup(std::ssize(splits_), false) + table * moved_.plan.ranks;
}

double DecisionBytes::most(std::int64_t first, int count) const {
  return std::ranges::max(std::span(sums_).subspan(first, count));
}

void DecisionBytes::add_between_nodes(std::int64_t split, bool by_node, const RoundTrip& trip) {
  const int home = moved_.nodes.of(trip.home), owner = moved_.nodes.of(trip.owner);
  if (home == owner) return;
  sums_[of_dedup(split, by_node) + home] += trip.requested + trip.gradients;
  sums_[of_dedup(split, by_node) + owner] += trip.vectors;
}

void DecisionBytes::add_home(int rank, const PlanCounts& counts) {
  for (std::int64_t s = 0; s < std::ssize(splits_); ++s) {
    const HomeLookups lookups = lookups_in(moved_, splits_[s], rank, counts);
    for (const TransferChoice& transfer : transfers) {
      if (!chooses_transfer_ || !is_candidate(transfer)) continue;
      const std::int64_t first = of_transfer(s, transfer.value);
      for (const RoundTrip& trip : transfer.bytes(lookups, packing_)) {
        if (trip.home == trip.owner) continue;
        sums_[first + trip.home] += trip.requested + trip.gradients;
        sums_[first + trip.owner] += trip.vectors;
      }
    }
    if (!chooses_dedup_) continue;
    for (const RoundTrip& trip : unique_row_bytes(lookups, packing_)) add_between_nodes(s, false, trip);
  }
  for (std::int64_t t = 0; t < std::ssize(moved_.tables); ++t)
    if (chooses_gradients_ && has_replicas(moved_.plan.tables[t]))
      sums_[of_table(t) + rank] +=
          (moved_.plan.ranks - 1) * row_gradient_bytes(counts[t].back().distinct_rows, moved_.tables[t].dim);
}

void DecisionBytes::add_node(int node, const PlanCounts& counts) {
  if (!chooses_dedup_) return;
  for (std::int64_t s = 0; s < std::ssize(splits_); ++s)
    for (const RoundTrip& trip :
         node_row_bytes(lookups_in(moved_, splits_[s], moved_.nodes.ranks_of(node).front(), counts), packing_))
      add_between_nodes(s, true, trip);
}

RowTransfer DecisionBytes::transfer_of(std::int64_t split) const {
  const bool max = std::ranges::any_of(moved_.features, [&](const Feature& feature) {
    return feature.table == splits_[split].columns.table && feature.pooling == Pooling::max;
  });
  return cheapest_transfer(max,
                           [&](RowTransfer transfer) { return most(of_transfer(split, transfer), moved_.plan.ranks); });
}

bool DecisionBytes::node_is_cheaper(const Decisions& decided) const {
  const int nodes = moved_.nodes.count();
  std::vector<double> local(nodes), node(nodes);
  for (std::int64_t s = 0; s < std::ssize(splits_); ++s)
    for (int n = 0; n < nodes && decided.splits[s].transfer == RowTransfer::unique_rows; ++n) {
      local[n] += sums_[of_dedup(s, false) + n];
      node[n] += sums_[of_dedup(s, true) + n];
    }
  return node_dedup_pays(std::ranges::max(local), std::ranges::max(node));
}

Decisions DecisionBytes::decide() const {
  Decisions decided{.splits = {}, .dedup = without_choice(moved_.movement.dedup), .by_rows = {}};
  for (std::int64_t s = 0; s < std::ssize(splits_); ++s)
    decided.splits.push_back({splits_[s].columns, chooses_transfer_ ? transfer_of(s) : moved_.movement.transfer});
  if (chooses_dedup_ && node_is_cheaper(decided)) decided.dedup = Dedup::node;
  for (std::int64_t t = 0; t < std::ssize(moved_.tables); ++t) {
    const Table& table = moved_.tables[t];
    const TablePlacement& placement = moved_.plan.tables[t];
    const int ranks = moved_.plan.ranks;
    decided.by_rows.push_back(
        chooses_gradients_ && has_replicas(placement)
            ? row_gradients_pay(most(of_table(t), ranks), replicated_rows(placement, table).count(), table.dim, ranks)
            : moved_.movement.replicated_gradients == ReplicatedGradients::rows);
  }
  return decided;
}

}  // namespace shardmark::placement
