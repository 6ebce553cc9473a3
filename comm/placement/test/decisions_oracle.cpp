// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <tuple>

#include "comm/placement/test/traffic_oracle.hpp"

namespace shardmark::placement {
namespace {

/// Some columns alone, with the hot rows that they lack, or without any a replicated table or its hot rows.
Plan part_of(const Plan& plan, const std::vector<TableColumns>& wanted) {
  Plan part{.name = plan.name, .ranks = plan.ranks, .tables = std::vector<TablePlacement>(plan.tables.size())};
  for (const TableColumns& columns : wanted) part.tables[columns.table].hot_rows = plan.tables[columns.table].hot_rows;
  for (const TableColumns& columns : wanted)
    for (const Shard& shard : plan.tables[columns.table].shards)
      if (shard.column_begin == columns.begin && shard.column_end == columns.end)
        part.tables[columns.table].shards.push_back(shard);
  return part;
}

/// Of rows that are not replicated: what the busiest node sends to others; of one node, or none, the busiest rank.
std::int64_t busiest(const Traffic& traffic, const std::vector<int>& node_of) {
  const bool nodes = !node_of.empty() && std::ranges::max(node_of) > 0;
  const auto place = [&](int rank) { return nodes ? node_of[rank] : rank; };
  std::vector<std::int64_t> sent(static_cast<std::size_t>(traffic.update.ranks()));
  for (int from = 0; from < traffic.update.ranks(); ++from)
    for (int to = 0; to < traffic.update.ranks(); ++to)
      if (place(from) != place(to))
        sent[place(from)] += traffic.input_dist(from, to) + traffic.output_dist(from, to) + traffic.grad_dist(from, to);
  return std::ranges::max(sent);
}

/// Whether there are several nodes of equally many ranks, several each.
bool even(const std::vector<int>& node_of) {
  std::map<int, int> ranks;
  for (const int node : node_of) ++ranks[node];
  return ranks.size() > 1 && ranks.begin()->second > 1 &&
         std::ranges::all_of(ranks, [&](const auto& node) { return node.second == ranks.begin()->second; });
}

/// Returns whether each shard has others of the same columns on its node, each of them is on a rank of its own, and
/// nothing is pooled by max.
bool rails_can_carry(const Plan& plan, std::span<const Feature> features, const std::vector<int>& node_of) {
  if (!even(node_of)) return false;
  for (const Feature& feature : features) {
    if (feature.pooling == Pooling::max) return false;
    for (const Shard& shard : plan.tables[feature.table].shards) {
      std::multiset<int> ranks;
      for (const Shard& other : plan.tables[feature.table].shards)
        if (other.column_begin == shard.column_begin && node_of[other.rank] == node_of[shard.rank])
          ranks.insert(other.rank);
      if (ranks.size() < 2 || std::set(ranks.begin(), ranks.end()).size() < ranks.size()) return false;
    }
  }
  return true;
}

std::int64_t busiest_in_update(const Traffic& traffic) {
  std::int64_t most = 0;
  for (int r = 0; r < traffic.update.ranks(); ++r) most = std::max(most, traffic.update.sent_by(r));
  return most;
}

}  // namespace

Decisions predict_decisions(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                            std::span<const Batch> homes, const Movement& movement, const std::vector<int>& node_of) {
  Decisions decided{.splits = {}, .dedup = movement.dedup, .by_rows = {}};
  Movement one = movement;
  one.wire_ids = id_type(movement.wire_ids, plan, tables) == IdType::int64 ? WireIds::int64 : WireIds::automatic;
  one.replicated_gradients = ReplicatedGradients::dense;  // until these are compared themselves
  std::set<TableColumns> splits;
  for (const Feature& feature : features)
    for (const Shard& shard : plan.tables[feature.table].shards)
      if (shard.rows.count() < tables[feature.table].rows - plan.tables[feature.table].hot_rows)
        splits.insert({feature.table, shard.column_begin, shard.column_end});
  if (movement.dedup == Dedup::automatic) decided.dedup = Dedup::local;
  /// With that dedup the cheapest transfer of each split, and what the busiest node sends of all.
  const auto with = [&](Dedup dedup) {
    std::pair<std::vector<Decisions::Split>, std::int64_t> result;
    one.dedup = dedup;
    for (const TableColumns& columns : splits) {
      RowTransfer best = movement.transfer;
      std::int64_t least = -1;
      for (const RowTransfer candidate : {RowTransfer::dense_partials, RowTransfer::sparse_partials,
                                          RowTransfer::unique_rows, RowTransfer::node_partials}) {
        if (movement.transfer != RowTransfer::automatic) continue;
        if (candidate == RowTransfer::node_partials && std::ranges::count(node_of, 0) == std::ssize(node_of)) continue;
        one.transfer = candidate;
        const std::int64_t most =
            busiest(predict_traffic(part_of(plan, {columns}), tables, features, homes, one, {}, node_of), node_of);
        if (least < 0 || most < least) std::tie(least, best) = std::pair(most, candidate);
      }
      for (const Feature& feature : features)
        if (movement.transfer == RowTransfer::automatic && feature.table == columns.table &&
            feature.pooling == Pooling::max)
          best = RowTransfer::unique_rows;
      result.first.push_back({columns, best});
    }
    one.transfer = movement.transfer;
    result.second = busiest(predict_traffic(part_of(plan, {splits.begin(), splits.end()}), tables, features, homes, one,
                                            {.splits = result.first}, node_of),
                            node_of);
    return result;
  };
  const bool rows = movement.transfer == RowTransfer::automatic || movement.transfer == RowTransfer::unique_rows;
  if (movement.dedup == Dedup::automatic && even(node_of) && rows) {
    const std::int64_t local = with(Dedup::local).second;
    if (local > 0 && 5 * with(Dedup::node).second <= 4 * local) decided.dedup = Dedup::node;
  }
  const auto [cheapest, cheapest_bytes] = with(decided.dedup);
  decided.splits = cheapest;
  const auto by_rails = [&](const Decisions::Split& split) {
    return split.transfer == RowTransfer::node_partials ||
           (split.transfer == RowTransfer::unique_rows && decided.dedup == Dedup::node);
  };
  if (movement.transfer == RowTransfer::automatic && rails_can_carry(plan, features, node_of) &&
      !std::ranges::all_of(cheapest, by_rails)) {
    std::vector<Decisions::Split> rails = cheapest;
    for (Decisions::Split& split : rails) split.transfer = RowTransfer::node_partials;
    one.transfer = movement.transfer;
    one.dedup = decided.dedup;
    const std::int64_t bytes = busiest(predict_traffic(part_of(plan, {splits.begin(), splits.end()}), tables, features,
                                                       homes, one, {.splits = rails}, node_of),
                                       node_of);
    const std::int64_t ranks = std::ssize(node_of), nodes = std::ranges::max(node_of) + 1;
    const std::int64_t directly = 2 * (ranks / nodes) * (ranks - ranks / nodes);  // messages of a node to others
    if (bytes <= cheapest_bytes + (directly - 2 * (ranks - ranks / nodes)) * 8192) decided.splits = rails;
  }
  one.transfer = RowTransfer::dense_partials;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    Plan part = part_of(plan, {});
    part.tables[t].data_parallel = plan.tables[t].data_parallel;
    part.tables[t].hot_rows = plan.tables[t].hot_rows;
    const auto most = [&](ReplicatedGradients gradients) {
      one.replicated_gradients = gradients;
      return busiest_in_update(predict_traffic(part, tables, features, homes, one));
    };
    const bool open = movement.replicated_gradients == ReplicatedGradients::automatic &&
                      (plan.tables[t].data_parallel || plan.tables[t].hot_rows > 0);
    decided.by_rows.push_back(open ? most(ReplicatedGradients::rows) <= most(ReplicatedGradients::dense)
                                   : movement.replicated_gradients == ReplicatedGradients::rows);
  }
  return decided;
}

}  // namespace shardmark::placement
