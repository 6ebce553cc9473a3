// SPDX-License-Identifier: Apache-2.0
// What later capabilities enter by: another storage, several steps in flight, groups of tables that take turns.
#include <gtest/gtest.h>

#include <array>

#include "workloads/measure/test/planners_of_every_kind.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"
#include "workloads/step/training_step.hpp"
#include "workloads/tables/dense_store.hpp"

namespace shardmark::workloads {
namespace {

/// Tables of a storage that exists in this test alone lie in a second store, beside those of the first.
TEST(Seams, TablesOfSeveralStoragesShareAStep) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const auto other = static_cast<Storage>(storages().size());
  const AddedStorage added({{"other", "as dense", other}}, {other, make_dense_store});
  for (const auto& [pooling, kind, exact] : {std::tuple(Pooling::sum, OptimizerKind::sgd, true),
                                             std::tuple(Pooling::max, OptimizerKind::rowwise_adagrad, false),
                                             std::tuple(Pooling::mean, OptimizerKind::lamb, false)}) {
    RunOptions options = small_case(pooling, kind, exact);
    for (std::size_t t = 0; t < options.workload.tables.size(); t += 2) options.workload.tables[t].storage = other;
    std::vector<Case> cases;
    if (pooling != Pooling::max) cases.push_back({.movement = {.transfer = placement::RowTransfer::dense_partials}});
    for (const placement::Dedup dedup : {placement::Dedup::local, placement::Dedup::local_owner})
      cases.push_back({.movement = {.transfer = placement::RowTransfer::unique_rows, .dedup = dedup}});
    for (const std::string_view planner : planners_of_every_kind(comm.size())) {
      const placement::Plan plan = plan_of(planner, options, comm.size());
      const auto hot = [](const placement::TablePlacement& placement) { return placement.hot_rows > 0; };
      if (pooling == Pooling::max && std::ranges::any_of(plan.tables, hot)) continue;  // support.hpp
      for (const Case& config : cases)
        EXPECT_EQ(0, wrong_values(comm, options, plan, config))
            << planner << " " << config.name() << " " << name_of(pooling);
    }
  }
}

std::string regions;  ///< "<" and a name for each that begins, ">" for each that ends

/// What tools for Kokkos see of a step: its phases, with their exchanges inside them; nothing where groups take turns.
TEST(Seams, PhasesAndExchangesAreRegionsOfKokkosTools) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  const placement::Plan plan = plan_of("table_wise", options, comm.size());
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const auto input = inputs_of(comm, options, *batches).front();
  for (const std::int64_t groups : {std::int64_t{1}, placement::TableGroups::table}) {
    ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
    tables.fill(options.row_values());
    const auto ready = ready_case(comm, tables, plan, {.groups = {groups}}, input);
    training_step(ready->flight, input);
    regions.clear();
    Kokkos::Tools::Experimental::set_push_region_callback([](const char* name) { regions += "<" + std::string(name); });
    Kokkos::Tools::Experimental::set_pop_region_callback([] { regions += ">"; });
    training_step(ready->flight, input);
    Kokkos::Tools::Experimental::set_push_region_callback(nullptr);
    Kokkos::Tools::Experimental::set_pop_region_callback(nullptr);
    // Of lengths, ids, weights; of vectors; of gradients: one rank sends none of these two.
    const std::string vectors = comm.size() == 1 ? "" : "<exchange>";
    EXPECT_EQ(regions, groups != 1 ? ""
                                   : "<input_dist<exchange><exchange><exchange>><lookup><output_dist" + vectors +
                                         "><dense><grad_dist" + vectors + "><update>");
  }
}

/// It has one place, at home, and no room at the owner; but narrow types are encoded, whoever they are for.
TEST(Seams, WhatARankSendsToItselfStays) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const auto& [pooling, wire, stays] :
       {std::tuple(Pooling::sum, ValueType::fp32, true), std::tuple(Pooling::max, ValueType::fp32, false),
        std::tuple(Pooling::sum, ValueType::bf16, false)}) {
    const RunOptions options = small_case(pooling, OptimizerKind::sgd, false);
    const placement::Plan plan = plan_of("table_wise", options, comm.size());
    const auto batches = make_batch_source(options, [](const std::string&) {});
    const auto input = inputs_of(comm, options, *batches).front();
    ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
    tables.fill(options.row_values());
    const auto ready = ready_case(
        comm, tables, plan,
        {.movement = {.transfer = placement::RowTransfer::dense_partials, .wire = WireTypes{wire, wire}}}, input);
    training_step(ready->flight, input);
    const GroupFlight& flight = ready->flight.group(0);
    const VectorPlaces& places = flight.layout.places();
    const std::int64_t own = std::ssize(flight.group.layout.own_slots());
    std::int64_t all = 0, to_itself = 0;
    for (std::int64_t block = 0; block < std::ssize(flight.counts.owner); ++block) {
      const std::int64_t slot = flight.group.layout.first_slot[comm.rank()] + block % own;
      const std::int64_t elements =
          flight.counts.owner[block] * flight.group.layout.dim_of(flight.group.layout.slots[slot]);
      all += elements;
      if (block / own != comm.rank()) continue;
      to_itself += elements;
      EXPECT_EQ(places.stays[block % own], stays ? places.packed[slot] : -1);
    }
    EXPECT_EQ(places.owner_size, stays ? all - to_itself : all);
  }
}

/// Whose rows are added without a sort where they are few, and which ends where its own rows do.
TEST(Seams, AShardHasItsOwnRowsWhateverComesBehindIt) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  options.workload.ids.weighted = false;
  options.workload.tables[1].rows = 8;  // of few rows, with tables behind it that belong to other groups
  options.workload.features.erase(options.workload.features.begin() + 2);  // and a table that no feature reads
  options.workload.features.pop_back();
  for (const std::string_view planner : {"table_wise", "row_wise", "column_wise"})
    for (const std::int64_t groups : {std::int64_t{1}, placement::TableGroups::table}) {
      const placement::Plan plan = plan_of(planner, options, comm.size());
      const auto batches = make_batch_source(options, [](const std::string&) {});
      const auto input = inputs_of(comm, options, *batches).front();
      ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
      tables.fill(options.row_values());
      const auto ready = ready_case(comm, tables, plan, {.groups = {groups}}, input);
      training_step(ready->flight, input);
      std::int64_t keys = 0;
      for (std::int64_t g = 0; g < ready->flight.groups(); ++g) {
        keys += ready->flight.group(g).group.layout.exchanged_keys;
        const ShardLayout& layout = ready->flight.group(g).group.layout;
        const auto shards = Kokkos::create_mirror_view_and_copy(
            Kokkos::HostSpace(), ready->flight.group(g).layout.exchanged_by_shard.shards);
        for (std::size_t s = 0; s < shards.extent(0); ++s)
          EXPECT_TRUE(std::ranges::any_of(layout.exchanged,
                                          [&](const KeyedShard& keyed) {
                                            return keyed.first_key == shards(s).first_key &&
                                                   layout.shards[keyed.shard].rows.count() == shards(s).rows;
                                          }))
              << planner << ", groups " << groups << ", first key " << shards(s).first_key << ", rows "
              << shards(s).rows;
      }
      EXPECT_EQ(keys, tables.layout().exchanged_keys) << planner << ", groups " << groups;
    }
}

TEST(Seams, OnlyGroupsOfTablesThatNeedSumsOverWholeRowsExchangeThem) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  options.workload.tables[1].optimizer.kind = OptimizerKind::rowwise_adagrad;
  const placement::Plan plan = plan_of("column_wise", options, comm.size());
  ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const auto input = inputs_of(comm, options, *batches).front();
  const auto ready = ready_case(comm, tables, plan, {.groups = {placement::TableGroups::table}}, input);
  ASSERT_GT(ready->flight.groups(), 1);
  for (std::int64_t g = 0; g < ready->flight.groups(); ++g) {
    const bool of_table = g == ready->flight.embedding().group_of_table(1) && comm.size() > 1;
    EXPECT_EQ(ready->flight.group(g).row_sums.width(), of_table ? 1 : 0) << "group " << g;
  }
}

std::vector<float> on_host(const DeviceArray<float>& values) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
  return {host.data(), host.data() + host.extent(0)};
}

/// The outputs of all steps, which flights take in turns.
std::vector<std::vector<float>> outputs_by(std::int64_t flights, const comm::Communicator& comm,
                                           const RunOptions& options, const placement::Plan& plan, const Case& config) {
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const auto inputs = inputs_of(comm, options, *batches);
  ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
  tables.fill(options.row_values());
  Embedding embedding(
      comm, tables, plan, config,
      decide(comm, plan, tables.tables(), tables.features(), config.movement_in_effect(), inputs.front()));
  std::vector<std::unique_ptr<Flight>> all;
  for (std::int64_t i = 0; i < flights; ++i) all.push_back(std::make_unique<Flight>(embedding));
  std::vector<std::vector<float>> outputs;
  for (std::size_t step = 0; step < 2 * inputs.size(); ++step) {
    Flight& flight = *all[step % all.size()];
    const StepInput& input = inputs[step % inputs.size()];
    training_step(flight, input);
    for (std::int64_t f = 0; f < std::ssize(tables.features()); ++f)
      outputs.push_back(on_host(flight.output(input, f)));
  }
  return outputs;
}

TEST(Seams, SeveralFlightsOfAnEmbeddingGiveTheValuesOfOne) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = small_case(Pooling::sum, OptimizerKind::adam, false);
  for (const std::string_view planner : planners_of_every_kind(comm.size()))
    for (const placement::RowTransfer transfer :
         {placement::RowTransfer::sparse_partials, placement::RowTransfer::unique_rows})
      for (const char* exchange : {"mpi_alltoallv", "persistent", "bruck"}) {
        const placement::Plan plan = plan_of(planner, options, comm.size());
        const Case config{.movement = {.transfer = transfer}, .exchange = comm::exchange_named(exchange)};
        EXPECT_EQ(outputs_by(1, comm, options, plan, config), outputs_by(2, comm, options, plan, config))
            << planner << " " << config.name();
      }
}

/// With exact values bit for bit, so those of one group.
/// Poolings, optimizers and groups take turns over all plans and transfers.
TEST(Seams, GroupsChangeNoValue) {
  if (host_reaches_arrays) GTEST_SKIP() << "the net draws groups";
  const comm::Communicator comm(MPI_COMM_WORLD);
  const std::array<placement::TableGroups, 3> groups{
      {{2, placement::GroupBalance::count}, {placement::TableGroups::table}, {3, placement::GroupBalance::bytes}}};
  const std::array<RunOptions, 3> cases{small_case(Pooling::sum, OptimizerKind::sgd, true),
                                        small_case(Pooling::none, OptimizerKind::sgd, true),
                                        small_case(Pooling::mean, OptimizerKind::lamb, false)};
  std::size_t next = 0;
  for (const std::string_view planner : planners_of_every_kind(comm.size()))
    for (const auto& transfer : placement::transfers) {
      const RunOptions& options = cases[next % 3];
      const placement::Plan plan = plan_of(planner, options, comm.size());
      Case movement{.movement = {.transfer = transfer.value}, .exchange = comm::exchange_named("pairwise")};
      movement.groups = groups[next++ / 3 % 3];
      const auto sharded = std::ranges::count(plan.tables, false, &placement::TablePlacement::data_parallel);
      movement.groups.groups = std::min<std::int64_t>(movement.groups.groups, std::max<std::int64_t>(sharded, 1));
      EXPECT_EQ(0, wrong_values(comm, options, plan, movement)) << planner << " " << movement.name();
    }
}

}  // namespace
}  // namespace shardmark::workloads
