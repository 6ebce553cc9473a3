// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/training_step.hpp"

#include <algorithm>

#include "kernels/ceilings.hpp"
#include "workloads/step/faults.hpp"
#include "workloads/step/phase_clock.hpp"
#include "workloads/transfer/max_gradients.hpp"

namespace shardmark::workloads {

PhaseCosts training_step(Flight& flight, const StepInput& input, DenseModel& dense) {
  PhaseCosts costs;
  const Fault fault = flight.embedding().fault();
  const auto spoil = [&](Phase ended, GroupFlight& group) {
    if (fault != Fault::none) commit_fault(fault, ended, group);
  };
  flight.each(costs, Phase::input_dist, Phase::output_dist, [&](GroupFlight& group, std::int64_t, PhaseClock& clock) {
    const auto end = [&](Phase phase) {
      clock.end(phase);
      spoil(phase, group);
    };
    input_dist(group, input);  // ids to the owners of their rows
    end(Phase::input_dist);
    lookup(group);  // rows that come and go are brought; pooled lookup on the local shards
    end(Phase::lookup);
    output_dist(group, input);  // pooled vectors home to their samples
    end(Phase::output_dist);
  });
  const auto gradients =
      flight.dense(costs, [&] { return dense.run(input, flight, costs); });  // outputs to their gradients
  const kernels::UpdateStep now = flight.embedding().tables().next_step();
  flight.each(costs, Phase::grad_dist, Phase::update, [&](GroupFlight& group, std::int64_t, PhaseClock& clock) {
    grad_dist(group, input, gradients);  // the inverse way
    clock.end(Phase::grad_dist);
    spoil(Phase::grad_dist, group);
    sum_gradients(group, input, now);  // distinct rows, and the gradient of each
    if (fault != Fault::none) forget_last_row(fault, group);
    apply_optimizer(group, now);
    clock.end(Phase::update);
    spoil(Phase::update, group);
  });

  flight.charge(costs);
  costs.count(flight.sent());
  return costs;
}

PhaseCosts training_step(Flight& flight, const StepInput& input) {
  SyntheticGradient none;
  return training_step(flight, input, none);
}

namespace {

/// Finds the distinct rows of ids that are requested one by one, where they are read once for all.
void find_requested(GroupFlight& flight) {
  if (OwnerRows* owner = flight.rows.owner())
    owner->find(part(flight.owned.offsets, 0, flight.owned.rows + 1), part(flight.owned.ids, 0, flight.owned.rows));
}

/// Returns elements [begin, end) of the weights, which are empty when all are 1.
DeviceArray<float> weights_of(const OwnedIds& owned, std::int64_t begin, std::int64_t end) {
  return owned.weights.extent(0) > 0 ? part(owned.weights, begin, end) : owned.weights;
}

/// Says whether the ids of each of some shards are sorted by one thread of the host, which sees bags alone and not
/// weights: if the threads find about as much to do.
bool sorts_by_shard(const GroupFlight& flight, const StepLayout::ByShard& some, const TableLookups& lookups) {
  return host_reaches_arrays && flight.owned.weights.extent(0) == 0 && !lookups.pools_by_max() &&
         some.most_bags * Execution().concurrency() <= 2 * some.bags;
}

/// Returns the gradients of the owner, and the sums of those of few rows (StepLayout).
DeviceArray<float> with_sums(const GroupFlight& flight) {
  const DeviceArray<float>&gradients = flight.owner_gradients, &vectors = flight.vectors;
  const float* const end = std::max(gradients.data() + gradients.extent(0), vectors.data() + vectors.extent(0));
  return DeviceArray<float>(gradients.data(), static_cast<std::size_t>(end - gradients.data()));
}

/// Brings rows that come and go, and lets their places stand for the ids of the step.
void bring(GroupFlight& flight) {
  const StepLayout& layout = flight.layout;
  const std::int64_t step = flight.group.tables.steps() + 1, ids = flight.owned.exchanged_ids;
  if (has_any_keys(flight.group.tables.tables()))
    return flight.brought.bring_any(step, layout.exchanged_by_shard.shards, layout.exchanged_by_shard.blocks,
                                    flight.owned, ids);
  if constexpr (host_reaches_arrays)
    if (sorts_by_shard(flight, layout.exchanged_by_shard, layout.exchanged))
      return flight.brought.bring_by_shard(step, layout.exchanged_by_shard.shards, layout.exchanged_by_shard.blocks,
                                           flight.owned, ids, with_sums(flight));
  flight.brought.bring(step, layout.gradients, flight.owned, ids, flight.keys, flight.gradient_offsets,
                       flight.unique_workspace);
}

}  // namespace

void input_dist(GroupFlight& flight, const StepInput& input) {
  flight.sent.begin(index_of(Phase::input_dist));
  const BagCounts bags = flight.ids.count_bags(input);
  const bool bags_changed = bags != flight.bags;
  if (bags_changed) flight.ids.lay_out(bags);
  flight.owned = flight.ids.run(input, flight.rows);
  // Decided alike on all ranks, though one may find its own counts unchanged: exchanges set routes up together.
  if (bags_changed || flight.group.counts_follow_ids || flight.ids.vector_counts() != flight.counts)
    flight.lay_out(bags);
  if (!flight.rows.any()) return;
  flight.rows.lay_out(input, flight.layout.row_pooled_begin(), flight.layout.gradient_begin());
  if (!flight.brought.any()) find_requested(flight);
}

void lookup(GroupFlight& flight) {
  const Execution exec;
  StepLayout& layout = flight.layout;
  if (flight.brought.any()) {
    bring(flight);
    find_requested(flight);
  }
  for (const auto& [begin, end] : layout.places().zeros)
    Kokkos::deep_copy(exec, part(flight.vectors, begin, end), 0.0F);
  if (OwnerRows* owner = flight.rows.owner())
    owner->read(layout.regions().of(flight.vectors, VectorRegion::requested_rows));
  layout.exchanged.run(flight.owned, flight.vectors);
  layout.replicated.run(flight.owned, flight.vectors);
}

void output_dist(GroupFlight& flight, const StepInput& input) {
  send_vectors(flight);
  make_outputs(flight, input);
}

void send_vectors(GroupFlight& flight) {
  flight.sent.begin(index_of(Phase::output_dist));
  const StepLayout& layout = flight.layout;
  const DeviceArray<float>& vectors = flight.vectors;
  const auto owner = layout.regions().of(vectors, VectorRegion::owner);
  const auto home = layout.regions().of(vectors, VectorRegion::packed);
  flight.pooled->move(Direction::forward, owner, home);
  if (flight.rows.any()) {
    flight.rows.receive(layout.regions().of(vectors, VectorRegion::requested_rows));
    flight.rows.pool(vectors);
  }
}

void make_outputs(GroupFlight& flight, const StepInput& input) {
  const Execution exec;
  const StepLayout& layout = flight.layout;
  const DeviceArray<float>& vectors = flight.vectors;
  kernels::sum_partials<Execution>(
      exec, layout.to_sum.pieces, {layout.to_sum.partials, flight.owned.vectors_before}, layout.to_sum.rows,
      part(vectors, layout.regions().begin(VectorRegion::packed), layout.regions().end(VectorRegion::hot_partials)),
      vectors);
  flight.divide(input, layout.output_begin(), false, vectors);
}

void grad_dist(GroupFlight& flight, const StepInput& input, const ConstDeviceArray<float>& gradients) {
  const Execution exec;
  flight.sent.begin(index_of(Phase::grad_dist));
  const StepLayout& layout = flight.layout;
  flight.gradients = gradients;
  const bool at_home = layout.places().at_home;
  if (at_home || flight.divides(input)) {
    const auto copy = at_home ? flight.packed_gradients : flight.divided_gradients.first(input.elements());
    kernels::stream_copy<Execution>(exec, gradients, copy, at_home ? flight.readers : kernels::Readers::near);
    flight.divide(input, layout.gradient_begin(), true, copy);
    flight.gradients = copy;
  }
  if (!at_home)
    kernels::copy_to_partials<Execution>(exec, layout.to_send.pieces,
                                         {layout.to_send.partials, flight.owned.vectors_before}, layout.to_send.rows,
                                         flight.gradients, flight.packed_gradients, flight.readers);
  const auto returned = [&](VectorRegion region) { return layout.regions().of(flight.vectors, region); };
  flight.pooled->move(Direction::backward, flight.packed_gradients, returned(VectorRegion::returned));
  if (flight.rows.any())
    flight.rows.return_gradients(flight.vectors, flight.gradients, returned(VectorRegion::returned_rows));
}

namespace {

/// Returns the gradients, with those of the ids of bags that `lookups` pooled by max behind them.
ConstDeviceArray<float> of_ids_too(GroupFlight& flight, const ConstDeviceArray<float>& gradients, TableLookups& lookups,
                                   DeviceScratch<float>& scratch) {
  const auto ids = static_cast<std::int64_t>(flight.owned.ids.extent(0));
  return with_max_gradients(
      gradients, lookups.pools_by_max() ? ids * flight.layout.largest_max_dim : 0, scratch,
      [&](const DeviceArray<float>& all) { lookups.max_gradients(flight.owned, flight.vectors, gradients, all); });
}

/// Holds keys and places of the gradients of all ids, [ids], where some are not sorted by shard; else empty.
struct Positions {
  DeviceArray<std::int64_t> keys, gradient_offsets;
};

/// Sorts the positions [begin, end) together and gives the gradients of their rows.
RowGradients of_positions(const GroupFlight& flight, const Positions& positions, std::int64_t begin, std::int64_t end,
                          std::int64_t key_bound, const ConstDeviceArray<float>& gradients,
                          kernels::UniqueRowsWorkspace<Execution>& workspace) {
  return kernels::sorted_row_gradients<Execution>(Execution(), part(positions.keys, begin, end), key_bound,
                                                  part(positions.gradient_offsets, begin, end),
                                                  weights_of(flight.owned, begin, end), gradients, workspace);
}

/// Returns the gradients of the shards that hold parts of tables.
RowGradients exchanged_gradients(GroupFlight& flight, bool by_shard, const Positions& positions) {
  const std::int64_t ids = flight.owned.exchanged_ids, key_bound = flight.group.layout.exchanged_keys;
  const StepLayout& layout = flight.layout;
  if (!by_shard) {
    const auto gradients = of_ids_too(flight, flight.owner_gradients, flight.layout.exchanged, flight.max_gradients);
    return of_positions(flight, positions, 0, ids, key_bound, gradients, flight.unique_workspace);
  }
  const DeviceArray<float> gradients = with_sums(flight);
  const auto rows =
      kernels::sort_shards<Execution>(Execution(), layout.exchanged_by_shard.shards, layout.exchanged_by_shard.blocks,
                                      flight.owned.offsets, flight.owned.ids, ids, key_bound, gradients,
                                      {gradients, gradients, {}}, flight.unique_workspace, flight.brought.placed());
  return {rows, {}, {}, gradients};
}

/// Gives those of replicated rows, but for rows that are added up where all of them have a place.
RowGradients replicated_gradients(GroupFlight& flight, bool by_shard, const Positions& positions) {
  const std::int64_t begin = flight.owned.exchanged_ids, end = static_cast<std::int64_t>(flight.owned.ids.extent(0)),
                     key_bound = flight.replicated.keys();
  const StepLayout& layout = flight.layout;
  const auto few = flight.replicated.clear_sums(by_shard ? layout.replicated_by_shard.pieces : 0);
  if (!by_shard) {
    const auto gradients =
        of_ids_too(flight, flight.gradients, flight.layout.replicated, flight.replicated_max_gradients);
    return of_positions(flight, positions, begin, end, key_bound, gradients, flight.replicated_workspace);
  }
  const auto rows = kernels::sort_shards<Execution>(
      Execution(), layout.replicated_by_shard.shards, layout.replicated_by_shard.blocks, flight.owned.offsets,
      flight.owned.ids, end - begin, key_bound, flight.gradients, few, flight.replicated_workspace);
  return {rows, {}, {}, flight.gradients};
}

/// Sums the gradients of the shards that hold parts of tables.
void sum_exchanged(GroupFlight& flight, const StepInput& input, const kernels::UpdateStep& now,
                   RowGradients gradients) {
  const Execution exec;
  const std::int64_t ids = flight.owned.exchanged_ids;
  flight.row_gradients = std::move(gradients);
  const std::int64_t width = flight.row_sums.width();
  if (width == 0) return;
  flight.row_gradients = kernels::summed_gradients<Execution>(
      exec, *flight.row_gradients, flight.group.layout.exchanged_keys, flight.gradient_shards, flight.summed_workspace);
  const auto sums = flight.sums.first(ids * width);
  flight.updates.row_sums(*flight.row_gradients, now, sums, width);
  flight.row_sums.complete(flight.row_gradients->unique, sums, flight.ids.id_bound(input));
  flight.whole_rows = {sums, width};
}

}  // namespace

void sum_gradients(GroupFlight& flight, const StepInput& input, const kernels::UpdateStep& now) {
  flight.sent.begin(index_of(Phase::update));
  const OwnedIds& owned = flight.owned;
  const StepLayout& layout = flight.layout;
  const auto ids = static_cast<std::int64_t>(owned.ids.extent(0));
  Positions positions;
  const bool by_shard = sorts_by_shard(flight, layout.exchanged_by_shard, layout.exchanged);
  const bool replicated_by_shard =
      flight.replicated.empty() || sorts_by_shard(flight, layout.replicated_by_shard, layout.replicated);
  if (!by_shard || !replicated_by_shard) {
    positions = {flight.keys.first(ids), flight.gradient_offsets.first(ids)};
    kernels::expand_positions(
        Execution(), layout.gradients, ConstDeviceArray<std::int64_t>(owned.offsets), owned.ids, positions.keys,
        positions.gradient_offsets,
        by_shard ? kernels::LaterBags{layout.exchanged_by_shard.bags, owned.exchanged_ids} : kernels::LaterBags{});
  }
  sum_exchanged(flight, input, now, exchanged_gradients(flight, by_shard, positions));
  if (!flight.replicated.empty())
    flight.replicated.reduce(replicated_gradients(flight, replicated_by_shard, positions));
}

void apply_optimizer(GroupFlight& flight, const kernels::UpdateStep& now) {
  flight.updates.run(*flight.row_gradients, now, flight.whole_rows);
  if (!flight.replicated.empty()) flight.replicated.apply(now);
  if (flight.brought.any()) flight.brought.end(now.number);
  wait_for_kernels("shardmark: the step is complete");
}

}  // namespace shardmark::workloads
