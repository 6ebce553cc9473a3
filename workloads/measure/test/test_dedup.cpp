// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

#include "comm/collectives.hpp"
#include "comm/placement/support.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"
#include "workloads/step/training_step.hpp"

namespace shardmark::workloads {
namespace {

constexpr std::array on_one_node{placement::Dedup::off, placement::Dedup::local, placement::Dedup::owner,
                                 placement::Dedup::local_owner};

TEST(Dedup, IsRefusedWhereNoRowsTravel) {
  const RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  const auto supported = [&](const placement::Movement& movement) {
    placement::require_supported(plan_of("row_wise", options, 2), options.workload.tables, options.workload.features,
                                 movement);
  };
  EXPECT_THROW(supported({.transfer = placement::RowTransfer::sparse_partials, .dedup = placement::Dedup::local}),
               InputError);
  EXPECT_THROW(supported({.transfer = placement::RowTransfer::reduce_scatter, .dedup = placement::Dedup::owner}),
               InputError);
  EXPECT_NO_THROW(supported({.transfer = placement::RowTransfer::sparse_partials, .dedup = placement::Dedup::off}));
  const comm::Communicator one_node(MPI_COMM_WORLD);
  EXPECT_THROW(
      wrong_values(one_node, options, plan_of("row_wise", options, one_node.size()),
                   {.movement = {.transfer = placement::RowTransfer::unique_rows, .dedup = placement::Dedup::node}}),
      InputError);
}

/// Whether a bag can be pooled from its hot rows and from the others apart.
bool adds_parts(const Choice<Pooling>& pooling) { return pooling.value != Pooling::max; }

TEST(Dedup, UniqueRowsPoolSplitRowsInEveryWay) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const auto& pooling : poolings)
    for (const bool exact : {true, false}) {
      RunOptions options =
          small_case(pooling.value, exact ? OptimizerKind::sgd : OptimizerKind::rowwise_adagrad, exact);
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        std::mt19937_64 random(seed);
        const placement::Plan plan =
            seed == 1 ? plan_of("row_wise", options, comm.size())
                      : placement::random_plan(options.workload.tables, comm.size(), random, adds_parts(pooling));
        for (const placement::Dedup dedup : on_one_node)
          EXPECT_EQ(0, wrong_values(comm, options, plan,
                                    {.movement = {.transfer = placement::RowTransfer::unique_rows, .dedup = dedup}}))
              << pooling.name << " " << seed << " " << name_of(dedup);
      }
    }
}

/// Four ranks as two nodes of two, in blocks and dealt out.
TEST(Dedup, ByNodeGivesTheSameRows) {
  if (comm::Communicator(MPI_COMM_WORLD).size() != 4) GTEST_SKIP() << "needs 4 ranks";
  for (const std::vector<int>& leaders : {std::vector{0, 0, 2, 2}, std::vector{0, 1, 0, 1}, std::vector{0, 1, 1, 0}}) {
    const comm::Communicator comm(MPI_COMM_WORLD, std::numeric_limits<int>::max(), leaders);
    for (const auto& pooling : poolings) {
      const RunOptions exact = small_case(pooling.value, OptimizerKind::sgd, true);
      const RunOptions options = small_case(pooling.value, OptimizerKind::rowwise_adagrad, false);
      const Case movement{
          .movement = {.transfer = placement::RowTransfer::unique_rows, .dedup = placement::Dedup::node}};
      for (Case one = movement; const auto& ids : placement::wire_ids) {
        one.movement.wire_ids = ids.value;
        EXPECT_EQ(0, wrong_values(comm, exact, plan_of("row_wise", exact, 4), one)) << pooling.name << " " << ids.name;
      }
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        std::mt19937_64 random(seed);
        const placement::Plan plan = placement::random_plan(options.workload.tables, 4, random, adds_parts(pooling));
        EXPECT_EQ(0, wrong_values(comm, options, plan, movement)) << pooling.name << " seed " << seed;
      }
    }
  }
}

/// The outputs of a step.
std::vector<float> outputs_of_one_step(const comm::Communicator& comm, const RunOptions& options,
                                       const placement::Plan& plan, const Case& movement) {
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const auto input = inputs_of(comm, options, *batches).front();
  ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
  tables.fill(options.row_values());
  const auto ready = ready_case(comm, tables, plan, movement, input);
  training_step(ready->flight, input);
  std::vector<float> values;
  for (std::int64_t f = 0; f < std::ssize(options.workload.features); ++f) {
    const auto output = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), ready->flight.output(input, f));
    values.insert(values.end(), output.data(), output.data() + output.extent(0));
  }
  return values;
}

TEST(Dedup, ChangesNoBitOfTheOutputs) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const auto& pooling : poolings)
    for (const auto& type : value_types) {
      const RunOptions options = small_case(pooling.value, OptimizerKind::none, false, type.value);
      const placement::Plan plan = plan_of("row_wise", options, comm.size());
      const auto values_with = [&](placement::Dedup dedup) {
        return outputs_of_one_step(comm, options, plan,
                                   {.movement = {.transfer = placement::RowTransfer::unique_rows, .dedup = dedup}});
      };
      const auto expected = values_with(placement::Dedup::off);
      for (const placement::Dedup dedup : on_one_node)
        EXPECT_EQ(expected, values_with(dedup)) << pooling.name << " " << type.name << " " << name_of(dedup);
    }
}

TEST(Dedup, OwnersReadEachRowOnceForAllWhoAsk) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = one_small_table();
  const placement::Plan plan = plan_of("row_wise", options, comm.size());
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const auto input = inputs_of(comm, options, *batches).front();
  ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
  tables.fill(options.row_values());
  const auto counts_with = [&](placement::Dedup dedup) {
    const auto ready = ready_case(
        comm, tables, plan, {.movement = {.transfer = placement::RowTransfer::unique_rows, .dedup = dedup}}, input);
    training_step(ready->flight, input);
    const RowCounts counts = ready->flight.row_counts();
    return std::array{comm::all_reduce(comm, counts.ids, comm::Reduce::sum),
                      comm::all_reduce(comm, counts.requested, comm::Reduce::sum),
                      comm::all_reduce(comm, counts.read, comm::Reduce::sum)};
  };
  if (comm.size() == 1) return;                                    // no rows are split
  const std::int64_t ids = 37 * 40, requested = 12 * comm.size();  // 9 samples or more name all 12 rows
  EXPECT_EQ(counts_with(placement::Dedup::off), (std::array{ids, ids, ids}));
  EXPECT_EQ(counts_with(placement::Dedup::local), (std::array{ids, requested, requested}));
  EXPECT_EQ(counts_with(placement::Dedup::owner), (std::array{ids, ids, std::int64_t{12}}));
  EXPECT_EQ(counts_with(placement::Dedup::local_owner), (std::array{ids, requested, std::int64_t{12}}));
}

TEST(Dedup, NarrowWiresBetweenNodesStayInsideTheirBound) {
  if (comm::Communicator(MPI_COMM_WORLD).size() != 4) GTEST_SKIP() << "needs 4 ranks";
  const comm::Communicator comm(MPI_COMM_WORLD, std::numeric_limits<int>::max(), {0, 0, 2, 2});
  std::size_t next = 0;
  for (const auto& forward : value_types)
    for (const auto& backward : value_types)
      for (const auto& pooling : poolings) {
        const bool exact = next++ % 2 == 0;
        const RunOptions options =
            small_case(pooling.value, exact ? OptimizerKind::sgd : OptimizerKind::rowwise_adagrad, exact);
        const Case movement{.movement = {.transfer = placement::RowTransfer::unique_rows,
                                         .wire = {forward.value, backward.value},
                                         .dedup = placement::Dedup::node}};
        EXPECT_EQ(0, wrong_values(comm, options, plan_of("row_wise", options, 4), movement))
            << pooling.name << " " << movement.name();
      }
}

TEST(Dedup, EveryFaultIsFoundWithEveryDedup) {
  const comm::Communicator one_node(MPI_COMM_WORLD);
  for (const auto& fault : faults) {
    if (!makes_wrong_values(fault.value)) continue;
    RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
    options.fault = fault.value;
    const placement::Plan plan = plan_of("row_wise", options, one_node.size());
    if (!finds_prey(fault.value, options, plan)) continue;
    for (const placement::Dedup dedup : on_one_node)
      EXPECT_GT(wrong_values(one_node, options, plan,
                             {.movement = {.transfer = placement::RowTransfer::unique_rows, .dedup = dedup}}),
                0)
          << fault.name << " " << name_of(dedup);
    if (one_node.size() != 4) continue;
    const comm::Communicator nodes(MPI_COMM_WORLD, std::numeric_limits<int>::max(), {0, 0, 2, 2});
    EXPECT_GT(
        wrong_values(nodes, options, plan,
                     {.movement = {.transfer = placement::RowTransfer::unique_rows, .dedup = placement::Dedup::node}}),
        0)
        << fault.name;
  }
}

}  // namespace
}  // namespace shardmark::workloads
