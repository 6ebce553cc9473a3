// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/node_strips.hpp"

#include <algorithm>
#include <utility>

#include "comm/placement/traffic/decisions.hpp"

namespace shardmark::placement {
namespace {

/// Returns the transfers that rows which are split may have where nodes make a difference.
std::vector<RowTransfer> transfers_of(const StepContext& step, std::int64_t table, std::size_t shards) {
  if (shards < 2) return {RowTransfer::dense_partials};
  if (step.movement.transfer != RowTransfer::automatic) return {step.movement.transfer};
  if (pools_by_max(step, table)) return {RowTransfer::unique_rows};
  std::vector<RowTransfer> candidates;
  for (const TransferChoice& transfer : transfers)
    if (is_candidate(transfer, true)) candidates.push_back(transfer.value);
  return candidates;
}

bool depends_on_nodes(const std::vector<RowTransfer>& transfers, const Packing& packing) {
  return transfers.size() > 1 || transfers.front() == RowTransfer::node_partials ||
         (transfers.front() == RowTransfer::unique_rows && packing.dedup == Dedup::node);
}

StripParts<RankSums> sums_of_parts(const StripParts<RankWork>& parts, const MachineModel& machine) {
  StripParts<RankSums> sums{.everywhere = sums_of(parts.everywhere, machine), .totals = parts.totals};
  const auto convert = [&](const std::vector<RankWork>& from, std::vector<RankSums>& to) {
    for (const RankWork& work : from) to.push_back(sums_of(work, machine));
  };
  convert(parts.alone, sums.alone);
  convert(parts.in_node, sums.in_node);
  convert(parts.rails, sums.rails);
  for (std::size_t k = 0; k < parts.adders.size(); ++k) sums.adders[k] = sums_of(parts.adders[k], machine);
  return sums;
}

}  // namespace

NodeStrips::NodeStrips(const StepContext& step, const MachineModel& machine, std::int64_t table,
                       const TablePlacement& seats)
    : step_(&step), machine_(&machine), table_(table), seats_(std::make_shared<const TablePlacement>(seats)) {
  const int nodes = step.layout().nodes();
  const bool read = std::ranges::count(step.features(), table, &Feature::table) > 0;
  const bool adds = step.movement.transfer == RowTransfer::node_partials;
  if (nodes == step.ranks || (nodes == 1 && !adds) || !read) return;
  const Packing packing = packing_of(step, table, seats);
  bool depends = false;
  for (const auto& [columns, shards] : shards_by_columns(*seats_)) {
    Strip strip{.shards = shards, .seats = StripOwners(shards), .travels = {}};
    const std::vector<RowTransfer> transfers = transfers_of(step, table, shards.size());
    depends |= depends_on_nodes(transfers, packing);
    const HomeLookups own = home_lookups(step, table, shards, step.samples());
    for (const RowTransfer transfer : transfers)
      strip.travels.push_back(
          {transfer,
           transfers.size() > 1 ? shard_flows(step, table, shards, own, packing, transfer) : std::vector<ShardFlow>(),
           {}});
    strips_.push_back(std::move(strip));
  }
  if (!depends) strips_.clear();
  traffic_ = NodeTraffic(nodes);
}

const StripParts<RankSums>& NodeStrips::parts(const Strip& strip, const Travel& travel,
                                              const SumSenders& senders) const {
  const auto known = travel.known.find(senders);
  if (known != travel.known.end()) return known->second;
  const TableSums sums(*step_, *machine_, table_, *seats_);
  return travel.known[senders] = sums_of_parts(strip_parts(sums, strip.shards, travel.transfer, senders), *machine_);
}

const NodeStrips::Travel& NodeStrips::cheapest(const Strip& strip, std::span<const int> nodes,
                                               const std::vector<bool>& adds) const {
  if (strip.travels.size() == 1) return strip.travels.front();
  const auto travel_of = [&](RowTransfer transfer) -> const Travel& {
    return *std::ranges::find(strip.travels, transfer, &Travel::transfer);
  };
  return travel_of(cheapest_transfer(false, true, [&](RowTransfer transfer) {
    const std::vector<bool> none;
    traffic_.clear();
    traffic_.add(travel_of(transfer).flows, nodes, transfer == RowTransfer::node_partials ? adds : none);
    return traffic_.busiest();
  }));
}

std::vector<PlacedStrip> NodeStrips::placed(std::span<const int> ranks) const {
  std::vector<PlacedStrip> placed;
  for (const Strip& strip : strips_) {
    PlacedStrip& made = placed.emplace_back();
    std::vector<int> holders, nodes;
    for (const int seat : strip.seats.ranks) made.owners.push_back(ranks[static_cast<std::size_t>(seat)]);
    for (const std::size_t owner : strip.seats.of_shard) {
      holders.push_back(made.owners[owner]);
      nodes.push_back(step_->nodes.of(made.owners[owner]));
    }
    const bool may_add = std::ranges::count(strip.travels, RowTransfer::node_partials, &Travel::transfer) > 0;
    if (may_add) made.adds = nodes_that_add(step_->nodes, holders);
    const Travel& travel = cheapest(strip, nodes, made.adds);
    if (travel.transfer != RowTransfer::node_partials) made.adds.clear();
    made.parts = &parts(strip, travel, senders_of(step_->nodes, holders, made.adds));
  }
  return placed;
}

std::vector<std::vector<StripCase>> NodeStrips::cheapest_cases() const {
  const int nodes = step_->layout().nodes(), per_node = step_->layout().on_node(0);
  std::vector<std::vector<StripCase>> cases;
  for (const Strip& strip : strips_) {
    std::vector<StripCase>& of_strip = cases.emplace_back();
    const int shards = static_cast<int>(std::ssize(strip.shards));
    const bool one_each = strip.seats.ranks.size() == strip.shards.size();
    const auto with = [&](int adding) { return SumSenders{adding, std::max(0, shards - adding * per_node)}; };
    for (const Travel& travel : strip.travels) {
      std::vector<SumSenders> corners{with(0)};
      if (travel.transfer == RowTransfer::node_partials)
        for (const int adding :
             {(std::max(0, shards - nodes) + per_node - 2) / (per_node - 1),  // the others have a node each
              shards / per_node, (shards + per_node - 1) / per_node})
          corners.push_back(with(adding));
      for (const SumSenders& senders : corners)
        of_strip.push_back({&parts(strip, travel, senders), senders.nodes, one_each ? senders.alone : 0});
    }
  }
  return cases;
}

bool NodeStrips::operator==(const NodeStrips& other) const {
  return std::ranges::equal(strips_, other.strips_, [&](const Strip& one, const Strip& two) {
    const SumSenders alone{0, static_cast<int>(std::ssize(one.shards))};
    return one.seats.ranks == two.seats.ranks && one.seats.of_shard == two.seats.of_shard &&
           std::ranges::equal(one.travels, two.travels, [&](const Travel& a, const Travel& b) {
             return a.transfer == b.transfer && a.flows == b.flows &&
                    parts(one, a, alone) == other.parts(two, b, alone);
           });
  });
}

}  // namespace shardmark::placement
