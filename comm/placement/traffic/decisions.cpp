// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/traffic/decisions.hpp"

#include <ranges>

namespace shardmark::placement {
namespace {

std::vector<ColumnShards> row_split_columns(const MovedPlan& moved) {
  auto splits = column_shards(moved);
  std::erase_if(splits, [](const ColumnShards& shards) { return !shards.row_split(); });
  return splits;
}

}  // namespace

bool rails_carry_all(const MovedPlan& moved) {
  if (!moved.nodes.even() || any_pools_by_max(moved.features)) return false;
  return std::ranges::all_of(column_shards(moved), [&](const ColumnShards& split) {
    std::vector<int> holders;
    for (const std::int64_t shard : split.shards)
      holders.push_back(moved.plan.tables[split.columns.table].shards[shard].rank);
    const std::vector<bool> adds = nodes_that_add(moved.nodes, holders);
    return std::ranges::all_of(holders, [&](int rank) { return adds[moved.nodes.of(rank)]; });
  });
}

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
      counts_nodes_(chooses_dedup_ || (chooses_transfer_ && moved.movement.dedup == Dedup::node)),
      chooses_rails_(chooses_transfer_ && rails_carry_all(moved)),
      chooses_gradients_(moved.movement.replicated_gradients == ReplicatedGradients::automatic &&
                         std::ranges::any_of(moved.plan.tables, has_replicas)),
      packing_(moved.packing(without_nodes(moved.movement.dedup))) {
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

/// Adds what leaves a node or, where there is one, a rank, to the place of that one behind `first`.
void DecisionBytes::add_between(std::int64_t first, const RoundTrip& trip) {
  const auto place = [&](int rank) { return several_nodes() ? moved_.nodes.of(rank) : rank; };
  const int home = place(trip.home), owner = place(trip.owner);
  if (home == owner) return;
  sums_[first + home] += trip.requested + trip.gradients;
  sums_[first + owner] += trip.vectors;
}

void DecisionBytes::add_home(int rank, const PlanCounts& counts) {
  for (std::int64_t s = 0; s < std::ssize(splits_); ++s) {
    const HomeLookups lookups = lookups_in(moved_, splits_[s], rank, counts);
    for (const TransferChoice& transfer : transfers) {
      if (!chooses_transfer_ || !is_candidate(transfer, several_nodes())) continue;
      for (const RoundTrip& trip : transfer.bytes(lookups, packing_)) add_between(of_transfer(s, transfer.value), trip);
    }
    if (!chooses_dedup_) continue;
    for (const RoundTrip& trip : unique_row_bytes(lookups, packing_)) add_between(of_dedup(s, false), trip);
  }
  for (std::int64_t t = 0; t < std::ssize(moved_.tables); ++t)
    if (chooses_gradients_ && has_replicas(moved_.plan.tables[t]))
      sums_[of_table(t) + rank] +=
          (moved_.plan.ranks - 1) * row_gradient_bytes(counts[t].back().distinct_rows, moved_.tables[t].dim);
}

void DecisionBytes::add_node(int node, const PlanCounts& counts) {
  if (!counts_nodes_) return;
  for (std::int64_t s = 0; s < std::ssize(splits_); ++s)
    for (const RoundTrip& trip :
         node_row_bytes(lookups_in(moved_, splits_[s], moved_.nodes.ranks_of(node).front(), counts), packing_))
      add_between(of_dedup(s, true), trip);
}

/// Returns where the bytes of a split lie by node or, where there is one, by rank.
std::int64_t DecisionBytes::bytes_of(std::int64_t split, RowTransfer transfer, bool by_node) const {
  const bool rows = transfer == RowTransfer::unique_rows;
  return rows && (by_node || !chooses_transfer_) ? of_dedup(split, by_node) : of_transfer(split, transfer);
}

/// by_node: rows that travel one by one do so with dedup node.
RowTransfer DecisionBytes::transfer_of(std::int64_t split, bool by_node) const {
  if (!chooses_transfer_) return moved_.movement.transfer;
  const bool max = std::ranges::any_of(moved_.features, [&](const Feature& feature) {
    return feature.table == splits_[split].columns.table && feature.pooling == Pooling::max;
  });
  const int places = several_nodes() ? moved_.nodes.count() : moved_.plan.ranks;
  return cheapest_transfer(max, several_nodes(),
                           [&](RowTransfer transfer) { return most(bytes_of(split, transfer, by_node), places); });
}

/// all: the transfer of all splits; automatic: the cheapest of each.
double DecisionBytes::busiest_node(bool by_node, RowTransfer all) const {
  std::vector<double> sent(moved_.nodes.count());
  for (std::int64_t s = 0; s < std::ssize(splits_); ++s) {
    const RowTransfer transfer = all == RowTransfer::automatic ? transfer_of(s, by_node) : all;
    for (std::size_t n = 0; n < sent.size(); ++n)
      sent[n] += sums_[bytes_of(s, transfer, by_node) + static_cast<std::int64_t>(n)];
  }
  return std::ranges::max(sent);
}

Decisions DecisionBytes::decide() const {
  Decisions decided{.splits = {}, .dedup = without_choice(moved_.movement.dedup), .by_rows = {}};
  if (chooses_dedup_ && node_dedup_pays(busiest_node(false), busiest_node(true))) decided.dedup = Dedup::node;
  const bool by_node = decided.dedup == Dedup::node;
  const auto splits = std::views::iota(std::int64_t{0}, std::ssize(splits_));
  const auto directly = [&](std::int64_t split) { return !goes_by_rails(transfer_of(split, by_node), decided.dedup); };
  const bool rails = chooses_rails_ && std::ranges::any_of(splits, directly) &&
                     rails_pay(busiest_node(by_node), busiest_node(by_node, RowTransfer::node_partials), moved_.nodes);
  for (const std::int64_t s : splits)
    decided.splits.push_back({splits_[s].columns, rails ? RowTransfer::node_partials : transfer_of(s, by_node)});
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
