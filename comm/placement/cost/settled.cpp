// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <ranges>

#include "comm/placement/cost/far_rows.hpp"
#include "comm/placement/cost/row_transfer_choice.hpp"
#include "comm/placement/traffic/decisions.hpp"

namespace shardmark::placement {
namespace {

/// Calls visit(run of tables, shards, what a home looks up in them, packing, transfer) for the shards of each range of
/// columns of the first of each run.
template <class Visit>
void for_each_strip(const StepContext& step, const Plan& plan, const Visit& visit) {
  for (const TableRun& run : runs_of_alike_tables(step, plan)) {
    const std::int64_t t = run.first;
    const Packing packing = packing_of(step, t, plan.tables[t]);
    for (const auto& shards : std::views::values(shards_by_columns(plan.tables[t]))) {
      const HomeLookups own = home_lookups(step, t, shards, step.samples());
      visit(run, shards, own, packing, transfer_of(step, t, shards, own, packing));
    }
  }
}

/// Holds what the transfers of rows that are split send.
struct SplitTraffic {
  double busiest_node = 0.0;  ///< bytes that leave it
  bool directly = false;      ///< vectors of any split go from each rank to each other
};

SplitTraffic split_traffic(const StepContext& step, const Plan& plan) {
  NodeTraffic traffic(step.nodes.count());
  bool directly = false;
  for_each_strip(step, plan,
                 [&](const TableRun& run, const auto& shards, const HomeLookups& own, const Packing& packing,
                     RowTransfer transfer) {
                   if (shards.size() < 2) return;
                   add_between_nodes(step, run.first, shards, own, packing, transfer, traffic, run.count);
                   directly |= !goes_by_rails(transfer, packing.dedup);
                 });
  return {traffic.busiest(), directly};
}

StepContext with(StepContext step, Dedup dedup) {
  step.movement.dedup = dedup;
  return step;
}

StepContext with(StepContext step, RowTransfer transfer) {
  step.movement.transfer = transfer;
  return step;
}

/// Decides dedup auto, and whether transfer auto sends all row splits as node_partials, as Decisions does, from
/// expected counts.
void settle_splits(StepContext& step, const Plan& plan) {
  std::optional<SplitTraffic> cheapest;  // with the dedup that is decided
  if (step.movement.dedup == Dedup::automatic) {
    step.movement.dedup = Dedup::local;
    if (step.nodes.even()) {
      cheapest = split_traffic(step, plan);
      const SplitTraffic by_node = split_traffic(with(step, Dedup::node), plan);
      if (node_dedup_pays(cheapest->busiest_node, by_node.busiest_node)) {
        step.movement.dedup = Dedup::node;
        cheapest = by_node;
      }
    }
  }
  if (step.movement.transfer != RowTransfer::automatic ||
      !rails_carry_all({plan, step.tables(), step.features(), step.movement, step.weighted, step.nodes}))
    return;
  if (!cheapest) cheapest = split_traffic(step, plan);
  const StepContext by_rails = with(step, RowTransfer::node_partials);
  if (cheapest->directly && rails_pay(cheapest->busiest_node, split_traffic(by_rails, plan).busiest_node, step.nodes))
    step.movement.transfer = RowTransfer::node_partials;
}

/// Returns whether every table sends dense partials.
bool sends_dense_partials(const StepContext& step, const Plan& plan) {
  bool all = true;
  for_each_strip(step, plan,
                 [&](const TableRun&, const auto&, const HomeLookups&, const Packing&, RowTransfer transfer) {
                   all &= transfer == RowTransfer::dense_partials;
                 });
  return all;
}

}  // namespace

StepContext settled(const StepContext& step, const MachineModel& machine, const Plan& plan) {
  StepContext result = step;
  if (id_type(step.movement.wire_ids, plan, step.tables()) == IdType::int64) result.movement.wire_ids = WireIds::int64;
  if (result.nodes.count() == 0) result.nodes = nodes_of(step);
  if (!result.cached_samples && machine.cache_per_rank > 0.0) result.cached_samples = cached_samples(step, machine);
  result.far_vectors = share_beyond(pooled_bytes(step, static_cast<double>(step.samples())), machine.cache_per_rank);
  settle_splits(result, plan);
  result.own_stays = own_part_stays(step.movement.wire, step.features());
  result.at_home = may_lie_at_home(shape_of(step.exchange), step.layout().nodes(), step.groups, step.prefetches,
                                   step.movement.wire, step.features()) &&
                   sends_dense_partials(result, plan);
  return result;
}

}  // namespace shardmark::placement
