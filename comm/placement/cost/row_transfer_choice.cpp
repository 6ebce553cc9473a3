// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/row_transfer_choice.hpp"

#include <algorithm>
#include <map>

#include "comm/placement/traffic/decisions.hpp"

namespace shardmark::placement {

Nodes nodes_of(const StepContext& step) {
  std::vector<int> node_of;
  for (int rank = 0; rank < step.ranks; ++rank) node_of.push_back(step.layout().node_of(rank));
  return Nodes(std::move(node_of));
}

void NodeTraffic::add(std::span<const ShardFlow> flows, std::span<const int> nodes, const std::vector<bool>& adds) {
  const auto add_vectors = [&](std::size_t node, const ShardFlow& flow) {
    to_owners_[node] += flow.gradients;
    from_owners_[node] += flow.vectors;
  };
  for (std::size_t s = 0; s < flows.size(); ++s) {
    const auto node = static_cast<std::size_t>(nodes[s]);
    to_owners_[node] += flows[s].requested;
    if (adds.empty() || !adds[node]) add_vectors(node, flows[s]);
  }
  for (std::size_t node = 0; node < adds.size(); ++node)
    if (adds[node]) add_vectors(node, flows.front());
}

double NodeTraffic::busiest() const {
  double all = 0.0, most = 0.0;
  for (const double bytes : to_owners_) all += bytes;
  const auto others = static_cast<double>(to_owners_.size() - 1);
  for (std::size_t n = 0; n < to_owners_.size(); ++n)
    most = std::max(most, all - to_owners_[n] + others * from_owners_[n]);
  return most;
}

void NodeTraffic::clear() {
  std::ranges::fill(to_owners_, 0.0);
  std::ranges::fill(from_owners_, 0.0);
}

namespace {

/// Returns what the busiest rank sends: as a home like all others, and as an owner to all of them.
double busiest(const std::vector<RoundTrip>& trips, int ranks) {
  double requested = 0.0;
  std::map<int, std::pair<double, double>> of_owner;  // what it is asked by each home; what it sends each
  for (const RoundTrip& trip : trips) {
    requested += trip.requested + trip.gradients;
    auto& [in, out] = of_owner[trip.owner];
    in += trip.requested + trip.gradients;
    out += trip.vectors;
  }
  double most = static_cast<int>(std::ssize(of_owner)) < ranks ? requested : 0.0;
  for (const auto& [owner, bytes] : of_owner)
    most = std::max(most, requested - bytes.first + (ranks - 1) * bytes.second);
  return most;
}

}  // namespace

ShardsByColumns shards_by_columns(const TablePlacement& placement) {
  ShardsByColumns result;
  for (const Shard& shard : placement.shards) result[{shard.column_begin, shard.column_end}].push_back(&shard);
  return result;
}

HomeLookups home_lookups(const StepContext& step, std::int64_t table, const std::vector<const Shard*>& shards,
                         std::int64_t samples) {
  HomeLookups lookups{.home = 0, .ranks = step.ranks, .columns = shards.front()->columns(), .holders = {}};
  for (const Shard* shard : shards)
    lookups.holders.push_back({shard->rank, step.statistics.expected(table, shard->rows, samples)});
  return lookups;
}

Packing packing_of(const StepContext& step, std::int64_t table, const TablePlacement& placement) {
  const Plan plan{.name = {}, .ranks = step.ranks, .tables = {placement}};
  const std::int64_t id_bytes = bytes_of(id_type(step.movement.wire_ids, plan, step.tables().subspan(table, 1)));
  const Dedup dedup = without_choice(step.movement.dedup);
  return {.wire = step.movement.wire,
          .row_id_bytes = id_bytes,
          .id_bytes = id_bytes + (step.weighted ? 4 : 0),
          .dedup = dedup,
          .nodes = step.nodes.count() > 0 ? step.nodes : nodes_of(step)};
}

std::vector<ShardFlow> shard_flows(const StepContext& step, std::int64_t table, const std::vector<const Shard*>& shards,
                                   const HomeLookups& own, const Packing& packing, RowTransfer transfer) {
  const int homes = step.layout().per_node;
  const bool by_node = transfer == RowTransfer::unique_rows && packing.dedup == Dedup::node;
  const std::vector<RoundTrip> trips =
      by_node ? node_row_bytes(home_lookups(step, table, shards, step.samples() * homes), packing)
      : transfer == RowTransfer::node_partials ? dense_partial_bytes(own, packing)
                                               : choice_of(transfer).bytes(own, packing);
  std::vector<ShardFlow> flows;
  const double times = by_node ? 1.0 : homes;
  for (std::size_t s = 0; s < shards.size(); ++s)
    flows.push_back({times * trips[s].requested, times * trips[s].vectors, times * trips[s].gradients});
  return flows;
}

bool pools_by_max(const StepContext& step, std::int64_t table) {
  const auto by_max = [&](const Feature& f) { return f.table == table && f.pooling == Pooling::max; };
  return std::ranges::any_of(step.features(), by_max);
}

void add_between_nodes(const StepContext& step, std::int64_t table, const std::vector<const Shard*>& shards,
                       const HomeLookups& own, const Packing& packing, RowTransfer transfer, NodeTraffic& traffic,
                       std::int64_t tables) {
  std::vector<int> holders, nodes;
  for (const Shard* shard : shards) {
    holders.push_back(shard->rank);
    nodes.push_back(packing.nodes.of(shard->rank));
  }
  std::vector<ShardFlow> flows = shard_flows(step, table, shards, own, packing, transfer);
  for (ShardFlow& flow : flows)
    for (double* bytes : {&flow.requested, &flow.vectors, &flow.gradients}) *bytes *= static_cast<double>(tables);
  traffic.add(flows, nodes,
              transfer == RowTransfer::node_partials ? nodes_that_add(packing.nodes, holders) : std::vector<bool>());
}

RowTransfer transfer_of(const StepContext& step, std::int64_t table, const std::vector<const Shard*>& shards,
                        const HomeLookups& own, const Packing& packing) {
  if (own.holders.size() < 2) return RowTransfer::dense_partials;
  if (step.movement.transfer != RowTransfer::automatic) return step.movement.transfer;
  const int nodes = packing.nodes.count();
  return cheapest_transfer(pools_by_max(step, table), nodes > 1, [&](RowTransfer transfer) {
    if (nodes == 1 || nodes == step.ranks) return busiest(choice_of(transfer).bytes(own, packing), step.ranks);
    NodeTraffic traffic(nodes);
    add_between_nodes(step, table, shards, own, packing, transfer, traffic);
    return traffic.busiest();
  });
}

bool gradients_by_rows(const StepContext& step, std::int64_t rows, std::int64_t dim, double named) {
  if (step.movement.replicated_gradients != ReplicatedGradients::automatic)
    return step.movement.replicated_gradients == ReplicatedGradients::rows;
  return row_gradients_pay((step.ranks - 1) * row_gradient_bytes(named, dim), rows, dim, step.ranks);
}

}  // namespace shardmark::placement
