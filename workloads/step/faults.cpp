// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/faults.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

#include "reference/storage.hpp"

namespace shardmark::workloads {
namespace {

/// Sets array[at] to factor array[at] + addend.
void change_one(const DeviceArray<float>& array, std::int64_t at, float factor, float addend) {
  Kokkos::parallel_for(
      "shardmark::fault", kernels::static_range(Execution(), 1), KOKKOS_LAMBDA(const std::int64_t) {
        float& element = array.data()[at];  // of another rank's memory where vectors lie at home
        element = element * factor + addend;
      });
}

/// Moves the last id of the first of the bags [begin, end) that has one into the bag after it.
void move_one_id(const DeviceArray<std::int64_t>& offsets, std::int64_t begin, std::int64_t end) {
  Kokkos::parallel_for(
      "shardmark::fault_route", kernels::static_range(Execution(), 1), KOKKOS_LAMBDA(const std::int64_t) {
        for (std::int64_t b = begin; b + 1 < end; ++b) {
          if (offsets(b + 1) == offsets(b)) continue;
          --offsets(b + 1);
          return;
        }
      });
}

/// Moves an id in the first block of bags that can show it.
void spoil_route(GroupFlight& flight) {
  std::int64_t begin = 0;
  for (const std::int64_t bags : flight.ids.owned_blocks()) {
    if (bags > 1) return move_one_id(flight.owned.offsets, begin, begin + bags);
    begin += bags;
  }
}

/// Changes what the lookup wrote: a vector that travels, a row that travels alone, or an output of a replicated table.
void spoil_lookup(GroupFlight& flight) {
  const StepLayout& layout = flight.layout;
  if (flight.vectors.extent(0) == 0) return;
  const VectorRegions& regions = layout.regions();
  const auto any = [&](VectorRegion region) { return regions.end(region) > regions.begin(region); };
  const auto& blocks = layout.exchanged_blocks();
  const auto written = std::ranges::find_if(blocks, [](const BagBlock& block) { return block.bags > 0; });
  const std::int64_t at = any(VectorRegion::owner)            ? 0
                          : written != blocks.end()           ? written->output
                          : any(VectorRegion::requested_rows) ? regions.begin(VectorRegion::requested_rows)
                                                              : std::ranges::max(layout.output_begin());
  change_one(flight.vectors, at, 1.0F, 1.0F);
}

/// Changes what came from other ranks: an output, or where no vectors travel a gradient of a replicated table.
void spoil_exchange(Phase ended, GroupFlight& flight) {
  const ShardLayout& layout = flight.group.layout;
  if (ended == Phase::output_dist && !layout.strips.empty())
    return change_one(flight.vectors, flight.layout.output_begin()[layout.strips.front().feature], -1.0F, 0x1p-8F);
  if (ended != Phase::grad_dist || !layout.strips.empty() || flight.gradients.extent(0) == 0) return;
  const auto copy = flight.divided_gradients.first(static_cast<std::int64_t>(flight.gradients.extent(0)));
  if (copy.data() != flight.gradients.data()) kernels::copy_array(Execution(), copy, flight.gradients);
  const auto& replicated = layout.replicated_features;
  if (!replicated.empty()) change_one(copy, flight.layout.gradient_begin()[replicated.front()], -1.0F, 1.0F);
  flight.gradients = copy;
}

/// Lists shards and the keys of the distinct rows of theirs that the step has updated, ascending.
struct UpdatedRows {
  const std::vector<KeyedShard>& shards;
  std::int64_t key_bound;
  std::vector<std::int64_t> keys;

  void add(const RowGradients& gradients) {
    const Execution exec;
    const std::int64_t count = host_count(exec, gradients.unique);
    const DeviceArray<std::int64_t> found("shardmark::updated_keys", static_cast<std::size_t>(count));
    const auto unique = gradients.unique;
    Kokkos::parallel_for(
        "shardmark::fault_keys", kernels::static_range(exec, count),
        KOKKOS_LAMBDA(const std::int64_t u) { found(u) = unique.key(u); });
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), found);
    keys.insert(keys.end(), host.data(), host.data() + count);
    std::ranges::sort(keys);
  }

  /// Returns shard and local row of a key, the row as first_key.
  KeyedShard place(std::int64_t key) const {
    const auto after = std::ranges::upper_bound(shards, key, {}, &KeyedShard::first_key);
    return {(after - 1)->shard, key - (after - 1)->first_key};
  }
};

/// Returns the updated rows of shards that hold parts of tables, and of replicated ones.
std::array<UpdatedRows, 2> updated_rows(const GroupFlight& flight) {
  std::array<UpdatedRows, 2> updated{UpdatedRows{flight.group.layout.exchanged, flight.group.layout.exchanged_keys, {}},
                                     UpdatedRows{flight.replicated.replicas(), flight.replicated.keys(), {}}};
  updated[0].add(*flight.row_gradients);
  for (const RowGradients& rows : flight.replicated.updated_rows()) updated[1].add(rows);
  return updated;
}

/// Changes the first number of the state of the first updated row that has one.
void spoil_state(GroupFlight& flight) {
  const ShardedTables& tables = flight.group.tables;
  for (const UpdatedRows& updated : updated_rows(flight))
    for (const std::int64_t key : updated.keys) {
      const auto [shard, row] = updated.place(key);
      Store& store = tables.store_of(shard);
      const LocalShard& local = tables.layout().shards[shard];
      const Table& table = tables.tables()[local.table];
      const std::array whole{local.rows.global(row)};
      const std::int64_t of_part = storage_of(table).rows_of_parts(table, whole).front().front();
      const std::int64_t changed = store.parts(shard).front().rows.local(of_part);  // its place where rows come and go
      StoredRows stored = store.read_range(shard, 0, changed, 1);
      if (stored.state.empty()) continue;
      stored.state.front() += 1.0F;
      return store.write_range(shard, 0, changed, stored);
    }
}

/// Updates the last row that was not to be updated, by a gradient of ones.
void update_stray_row(GroupFlight& flight) {
  const Execution exec;
  ShardedTables& tables = flight.group.tables;
  for (const UpdatedRows& updated : updated_rows(flight)) {
    std::int64_t key = updated.key_bound - 1;
    while (key >= 0 && std::ranges::binary_search(updated.keys, key)) --key;
    if (key < 0) continue;
    const auto [shard, row] = updated.place(key);
    const LocalShard& local = tables.layout().shards[shard];
    const std::vector<float> ones(static_cast<std::size_t>(local.dim()), 1.0F);
    kernels::UniqueRowsWorkspace<Execution> workspace;
    const auto unique = kernels::unique_rows<Execution>(
        exec, kernels::array_of<Execution, std::int64_t>(exec, {row}, ""), local.rows.most_places(), workspace);
    tables.store_of(shard).updates({{shard, 0}})->run({unique, {}, {}, kernels::array_of(exec, ones, "")}, {}, {});
    return;
  }
}

void forget_last_row(const RowGradients& gradients) {
  const auto total = gradients.unique.total;
  Kokkos::parallel_for(
      "shardmark::fault", kernels::static_range(Execution(), static_cast<std::int64_t>(total.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { total(i) = Kokkos::max(total(i) - 1, std::int64_t{0}); });
}

bool on_last_rank(const comm::Communicator& comm) { return comm.rank() + 1 == comm.size(); }

}  // namespace

void interrupt(const comm::Communicator& comm, Fault fault) {
  if (!on_last_rank(comm)) return;
  if (fault == Fault::die) std::raise(SIGKILL);
  if (fault == Fault::fail) throw std::runtime_error("fault fail: an error on purpose");
  if (fault == Fault::slow) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  while (fault == Fault::stop) std::this_thread::sleep_for(std::chrono::hours(1));
}

void commit_fault(Fault fault, Phase ended, GroupFlight& flight) {
  if (fault == Fault::none) return;
  if (ended == Phase::input_dist && fault == Fault::route) spoil_route(flight);
  if (ended == Phase::input_dist) interrupt(flight.group.comm, fault);
  const bool late = fault == Fault::late_step && flight.group.tables.steps() > 0;
  if (ended == Phase::lookup && (fault == Fault::lookup || late)) spoil_lookup(flight);
  if (fault == Fault::exchange) spoil_exchange(ended, flight);
  if (ended == Phase::update && fault == Fault::state) spoil_state(flight);
  if (ended == Phase::update && fault == Fault::stray_row) update_stray_row(flight);
  Execution().fence("shardmark: the fault is committed");
}

void forget_last_row(Fault fault, GroupFlight& flight) {
  if (fault == Fault::update) forget_last_row(*flight.row_gradients);
  if (fault != Fault::update && (fault != Fault::one_replica || !on_last_rank(flight.group.comm))) return;
  for (const RowGradients& sums : flight.replicated.sums()) forget_last_row(sums);
}

}  // namespace shardmark::workloads
