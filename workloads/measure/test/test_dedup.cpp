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

namespace shardmark {
namespace {

constexpr std::array on_one_node{Dedup::off, Dedup::local, Dedup::owner, Dedup::local_owner};

TEST(Dedup, IsRefusedWhereNoRowsTravel) {
  const RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  const auto supported = [&](const Movement& movement) {
    require_supported(plan_of("row_wise", options, 2), options.workload.tables, options.workload.features, movement);
  };
  EXPECT_THROW(supported({.transfer = RowTransfer::sparse_partials, .dedup = Dedup::local}), InputError);
  EXPECT_THROW(supported({.transfer = RowTransfer::reduce_scatter, .dedup = Dedup::owner}), InputError);
  EXPECT_NO_THROW(supported({.transfer = RowTransfer::sparse_partials, .dedup = Dedup::off}));
  const Communicator one_node(MPI_COMM_WORLD);
  EXPECT_THROW(wrong_values(one_node, options, plan_of("row_wise", options, one_node.size()),
                            {.movement = {.transfer = RowTransfer::unique_rows, .dedup = Dedup::node}}),
               InputError);
}

/// Whether a bag can be pooled from its hot rows and from the others apart.
bool adds_parts(const Choice<Pooling>& pooling) { return pooling.value != Pooling::max; }

TEST(Dedup, UniqueRowsPoolSplitRowsInEveryWay) {
  const Communicator comm(MPI_COMM_WORLD);
  for (const auto& pooling : poolings)
    for (const bool exact : {true, false}) {
      RunOptions options =
          small_case(pooling.value, exact ? OptimizerKind::sgd : OptimizerKind::rowwise_adagrad, exact);
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        std::mt19937_64 random(seed);
        const Plan plan = seed == 1 ? plan_of("row_wise", options, comm.size())
                                    : random_plan(options.workload.tables, comm.size(), random, adds_parts(pooling));
        for (const Dedup dedup : on_one_node)
          EXPECT_EQ(0, wrong_values(comm, options, plan,
                                    {.movement = {.transfer = RowTransfer::unique_rows, .dedup = dedup}}))
              << pooling.name << " " << seed << " " << name_of(dedup);
      }
    }
}

/// Four ranks as two nodes of two, in blocks and dealt out.
TEST(Dedup, ByNodeGivesTheSameRows) {
  if (Communicator(MPI_COMM_WORLD).size() != 4) GTEST_SKIP() << "needs 4 ranks";
  for (const std::vector<int>& leaders : {std::vector{0, 0, 2, 2}, std::vector{0, 1, 0, 1}, std::vector{0, 1, 1, 0}}) {
    const Communicator comm(MPI_COMM_WORLD, std::numeric_limits<int>::max(), leaders);
    for (const auto& pooling : poolings) {
      const RunOptions exact = small_case(pooling.value, OptimizerKind::sgd, true);
      const RunOptions options = small_case(pooling.value, OptimizerKind::rowwise_adagrad, false);
      const Case movement{.movement = {.transfer = RowTransfer::unique_rows, .dedup = Dedup::node}};
      for (Case one = movement; const auto& ids : wire_ids) {
        one.movement.wire_ids = ids.value;
        EXPECT_EQ(0, wrong_values(comm, exact, plan_of("row_wise", exact, 4), one)) << pooling.name << " " << ids.name;
      }
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        std::mt19937_64 random(seed);
        const Plan plan = random_plan(options.workload.tables, 4, random, adds_parts(pooling));
        EXPECT_EQ(0, wrong_values(comm, options, plan, movement)) << pooling.name << " seed " << seed;
      }
    }
  }
}

/// The outputs of a step.
std::vector<float> outputs_of_one_step(const Communicator& comm, const RunOptions& options, const Plan& plan,
                                       const Case& movement) {
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
  const Communicator comm(MPI_COMM_WORLD);
  for (const auto& pooling : poolings)
    for (const auto& type : value_types) {
      const RunOptions options = small_case(pooling.value, OptimizerKind::none, false, type.value);
      const Plan plan = plan_of("row_wise", options, comm.size());
      const auto values_with = [&](Dedup dedup) {
        return outputs_of_one_step(comm, options, plan,
                                   {.movement = {.transfer = RowTransfer::unique_rows, .dedup = dedup}});
      };
      const auto expected = values_with(Dedup::off);
      for (const Dedup dedup : on_one_node)
        EXPECT_EQ(expected, values_with(dedup)) << pooling.name << " " << type.name << " " << name_of(dedup);
    }
}

TEST(Dedup, OwnersReadEachRowOnceForAllWhoAsk) {
  const Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = one_small_table();
  const Plan plan = plan_of("row_wise", options, comm.size());
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const auto input = inputs_of(comm, options, *batches).front();
  ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
  tables.fill(options.row_values());
  const auto counts_with = [&](Dedup dedup) {
    const auto ready =
        ready_case(comm, tables, plan, {.movement = {.transfer = RowTransfer::unique_rows, .dedup = dedup}}, input);
    training_step(ready->flight, input);
    const RowCounts counts = ready->flight.row_counts();
    return std::array{all_reduce(comm, counts.ids, Reduce::sum), all_reduce(comm, counts.asked, Reduce::sum),
                      all_reduce(comm, counts.read, Reduce::sum)};
  };
  if (comm.size() == 1) return;                                // no rows are split
  const std::int64_t ids = 37 * 40, asked = 12 * comm.size();  // 9 samples or more name all 12 rows
  EXPECT_EQ(counts_with(Dedup::off), (std::array{ids, ids, ids}));
  EXPECT_EQ(counts_with(Dedup::local), (std::array{ids, asked, asked}));
  EXPECT_EQ(counts_with(Dedup::owner), (std::array{ids, ids, std::int64_t{12}}));
  EXPECT_EQ(counts_with(Dedup::local_owner), (std::array{ids, asked, std::int64_t{12}}));
}

TEST(Dedup, NarrowWiresBetweenNodesStayInsideTheirBound) {
  if (Communicator(MPI_COMM_WORLD).size() != 4) GTEST_SKIP() << "needs 4 ranks";
  const Communicator comm(MPI_COMM_WORLD, std::numeric_limits<int>::max(), {0, 0, 2, 2});
  std::size_t next = 0;
  for (const auto& forward : value_types)
    for (const auto& backward : value_types)
      for (const auto& pooling : poolings) {
        const bool exact = next++ % 2 == 0;
        const RunOptions options =
            small_case(pooling.value, exact ? OptimizerKind::sgd : OptimizerKind::rowwise_adagrad, exact);
        const Case movement{.movement = {.transfer = RowTransfer::unique_rows,
                                         .wire = {forward.value, backward.value},
                                         .dedup = Dedup::node}};
        EXPECT_EQ(0, wrong_values(comm, options, plan_of("row_wise", options, 4), movement))
            << pooling.name << " " << movement.name();
      }
}

TEST(Dedup, EveryFaultIsFoundWithEveryDedup) {
  const Communicator one_node(MPI_COMM_WORLD);
  for (const auto& fault : faults) {
    if (!makes_wrong_values(fault.value)) continue;
    RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
    options.fault = fault.value;
    const Plan plan = plan_of("row_wise", options, one_node.size());
    if (!finds_prey(fault.value, options, plan)) continue;
    for (const Dedup dedup : on_one_node)
      EXPECT_GT(
          wrong_values(one_node, options, plan, {.movement = {.transfer = RowTransfer::unique_rows, .dedup = dedup}}),
          0)
          << fault.name << " " << name_of(dedup);
    if (one_node.size() != 4) continue;
    const Communicator nodes(MPI_COMM_WORLD, std::numeric_limits<int>::max(), {0, 0, 2, 2});
    EXPECT_GT(
        wrong_values(nodes, options, plan, {.movement = {.transfer = RowTransfer::unique_rows, .dedup = Dedup::node}}),
        0)
        << fault.name;
  }
}

}  // namespace
}  // namespace shardmark
