// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>

#include "comm/placement/cost/far_rows.hpp"
#include "comm/placement/cost/row_transfer_choice.hpp"
#include "comm/placement/traffic/decisions.hpp"

namespace shardmark::placement {
namespace {

/// Returns the bytes that leave the busiest node on account of rows that are split.
double busiest_node(const StepContext& step, const Plan& plan) {
  NodeTraffic traffic(step.nodes.count());
  for (std::int64_t t = 0; t < std::ssize(plan.tables); ++t) {
    const Packing packing = packing_of(step, t, plan.tables[t]);
    for (const auto& shards : std::views::values(shards_by_columns(plan.tables[t]))) {
      if (shards.size() < 2) continue;
      const HomeLookups own = home_lookups(step, t, shards, step.samples());
      add_between_nodes(step, t, shards, own, packing, transfer_of(step, t, shards, own, packing), traffic);
    }
  }
  return traffic.busiest();
}

/// Decides dedup auto as Decisions does, from expected counts.
bool node_is_cheaper(const StepContext& local, const Plan& plan) {
  StepContext by_node = local;
  by_node.movement.dedup = Dedup::node;
  return node_dedup_pays(busiest_node(local, plan), busiest_node(by_node, plan));
}

/// Returns whether every table sends dense partials.
bool sends_dense_partials(const StepContext& step, const Plan& plan) {
  for (std::int64_t t = 0; t < std::ssize(plan.tables); ++t) {
    const Packing packing = packing_of(step, t, plan.tables[t]);
    for (const auto& shards : std::views::values(shards_by_columns(plan.tables[t]))) {
      const HomeLookups own = home_lookups(step, t, shards, step.samples());
      if (transfer_of(step, t, shards, own, packing) != RowTransfer::dense_partials) return false;
    }
  }
  return true;
}

}  // namespace

StepContext settled(const StepContext& step, const MachineModel& machine, const Plan& plan) {
  StepContext result = step;
  if (id_type(step.movement.wire_ids, plan, step.tables()) == IdType::int64) result.movement.wire_ids = WireIds::int64;
  if (result.nodes.count() == 0) result.nodes = nodes_of(step);
  if (!result.cached_samples && machine.cache_per_rank > 0.0) result.cached_samples = cached_samples(step, machine);
  result.far_vectors = share_beyond(pooled_bytes(step, static_cast<double>(step.samples())), machine.cache_per_rank);
  if (step.movement.dedup == Dedup::automatic) {
    result.movement.dedup = Dedup::local;
    if (result.nodes.even() && node_is_cheaper(result, plan)) result.movement.dedup = Dedup::node;
  }
  result.own_stays = own_part_stays(step.movement.wire, step.features());
  result.at_home = may_lie_at_home(shape_of(step.exchange), step.layout().nodes(), step.groups, step.prefetches,
                                   step.movement.wire, step.features()) &&
                   sends_dense_partials(result, plan);
  return result;
}

}  // namespace shardmark::placement
