// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>

#include "comm/placement/cost/far_rows.hpp"
#include "comm/placement/cost/row_transfer_choice.hpp"
#include "comm/placement/traffic/decisions.hpp"

namespace shardmark::placement {
namespace {

/// Holds the bytes between a node, or a rank, and the owners of rows, by the node of the owner.
struct OwnerBytes {
  std::vector<double> to_owners, from_owners;

  void add(const RankLayout& layout, const RoundTrip& trip) {
    to_owners[layout.node_of(trip.owner)] += trip.requested + trip.gradients;
    from_owners[layout.node_of(trip.owner)] += trip.vectors;
  }
  /// Returns the bytes that leave the busiest node, where `homes` on each node send requests.
  double busiest_node(int homes) const {
    double all = 0.0, most = 0.0;
    for (const double bytes : to_owners) all += bytes;
    const auto others = static_cast<double>(to_owners.size() - 1);
    for (std::size_t n = 0; n < to_owners.size(); ++n)
      most = std::max(most, homes * (all - to_owners[n] + others * from_owners[n]));
    return most;
  }
};

/// Decides dedup auto as Decisions does, from expected counts.
bool node_is_cheaper(const StepContext& local, const Plan& plan) {
  const RankLayout layout = local.layout();
  StepContext by_node = local;
  by_node.movement.dedup = Dedup::node;
  const std::vector<double> none(layout.nodes());
  OwnerBytes of_ranks{none, none}, of_nodes{none, none};
  for (std::int64_t t = 0; t < std::ssize(plan.tables); ++t) {
    const Packing packing = packing_of(local, t, plan.tables[t]), node = packing_of(by_node, t, plan.tables[t]);
    for (const auto& shards : std::views::values(shards_by_columns(plan.tables[t]))) {
      const HomeLookups own = home_lookups(local, t, shards, local.samples());
      if (transfer_of(local, t, own, packing) != RowTransfer::unique_rows) continue;
      for (const RoundTrip& trip : unique_row_bytes(own, packing)) of_ranks.add(layout, trip);
      const HomeLookups together = home_lookups(local, t, shards, local.samples() * layout.per_node);
      for (const RoundTrip& trip : node_row_bytes(together, node)) of_nodes.add(layout, trip);
    }
  }
  const double most = of_ranks.busiest_node(layout.per_node);
  return node_dedup_pays(most, of_nodes.busiest_node(1));
}

/// Returns whether every table sends dense partials.
bool sends_dense_partials(const StepContext& step, const Plan& plan) {
  for (std::int64_t t = 0; t < std::ssize(plan.tables); ++t) {
    const Packing packing = packing_of(step, t, plan.tables[t]);
    for (const auto& shards : std::views::values(shards_by_columns(plan.tables[t])))
      if (transfer_of(step, t, home_lookups(step, t, shards, step.samples()), packing) != RowTransfer::dense_partials)
        return false;
  }
  return true;
}

/// Returns the bytes of the pooled embeddings of a rank's samples.
double vector_bytes(const StepContext& step) {
  double bytes = 0.0;
  for (const Feature& feature : step.features())
    bytes += 4.0 * static_cast<double>(step.samples() * bags_per_sample(feature) * step.tables()[feature.table].dim);
  return bytes;
}

}  // namespace

StepContext settled(const StepContext& step, const MachineModel& machine, const Plan& plan) {
  StepContext result = step;
  if (id_type(step.movement.wire_ids, plan, step.tables()) == IdType::int64) result.movement.wire_ids = WireIds::int64;
  if (!result.cached_samples && machine.cache_per_rank > 0.0) result.cached_samples = cached_samples(step, machine);
  result.far_vectors = share_beyond(vector_bytes(step), machine.cache_per_rank);
  if (step.movement.dedup == Dedup::automatic) {
    result.movement.dedup = Dedup::local;
    const RankLayout layout = step.layout();
    const bool even = layout.nodes() > 1 && layout.per_node > 1 && layout.ranks % layout.per_node == 0;
    if (even && node_is_cheaper(result, plan)) result.movement.dedup = Dedup::node;
  }
  result.own_stays = own_part_stays(step.movement.wire, step.features());
  result.at_home = may_lie_at_home(shape_of(step.exchange), step.layout().nodes(), step.groups, step.prefetches,
                                   step.movement.wire, step.features()) &&
                   sends_dense_partials(result, plan);
  return result;
}

}  // namespace shardmark::placement
