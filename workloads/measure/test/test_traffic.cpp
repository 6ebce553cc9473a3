// SPDX-License-Identifier: Apache-2.0
// What a step sends against what comm/placement says of the same ids.
#include <gtest/gtest.h>

#include <limits>

#include "comm/collectives.hpp"
#include "comm/placement/plan_check.hpp"
#include "comm/placement/test/traffic_oracle.hpp"
#include "workloads/measure/test/planners_of_every_kind.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"
#include "workloads/step/training_step.hpp"
#include "workloads/transfer/unique_rows/node_dedup.hpp"

namespace shardmark::workloads {
namespace {

/// The ids of every rank's own samples.
std::vector<Batch> homes_of(const RunOptions& options, BatchSource& batches, std::int64_t step, int ranks) {
  std::vector<Batch> homes;
  for (int r = 0; r < ranks; ++r) {
    const SampleRange samples = samples_of(options.workload.global_batch, ranks, r);
    homes.push_back(batches.read(step, samples.first, samples.count).batch);
  }
  return homes;
}

/// From the ids of all ranks in one place.
placement::Decisions decisions_of(const comm::Communicator& comm, const placement::Movement& movement,
                                  const placement::Plan& plan, const Workload& workload,
                                  const std::vector<Batch>& first_homes) {
  return placement::predict_decisions(plan, workload.tables, workload.features, first_homes, movement, comm.node_of());
}

void check_traffic(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan,
                   const Case& config) {
  SCOPED_TRACE(plan.name + " " + config.name());
  const Workload& workload = options.workload;
  const auto batches = make_batch_source(options, [](const std::string&) {});
  ShardedTables tables(plan, workload.tables, workload.features, comm.rank());
  tables.fill(options.row_values());
  const auto inputs = inputs_of(comm, options, *batches);
  const auto ready = ready_case(comm, tables, plan, config, inputs.front());
  const placement::Decisions decided =
      decisions_of(comm, config.movement, plan, workload, homes_of(options, *batches, 0, comm.size()));
  for (std::int64_t step = 0; step < std::ssize(inputs); ++step) {
    const PhaseCosts costs = training_step(ready->flight, inputs[step]);
    const placement::Traffic traffic = placement::predict_traffic(plan, workload.tables, workload.features,
                                                                  homes_of(options, *batches, step, comm.size()),
                                                                  config.movement, decided, comm.node_of());
    const auto expect_bytes = [&](Phase phase, const placement::ByteMatrix& bytes) {
      const auto where = std::string(phase_names[index_of(phase)]) + ", step " + std::to_string(step) + ", rank " +
                         std::to_string(comm.rank());
      EXPECT_EQ(bytes.sent_by(comm.rank()), costs.payload[index_of(phase)]) << where;
      for (int peer = 0; peer < comm.size(); ++peer)
        EXPECT_EQ(bytes(comm.rank(), peer), ready->flight.sent().to_ranks(index_of(phase)).payload[peer])
            << where << " to " << peer;
    };
    expect_bytes(Phase::input_dist, traffic.input_dist);
    expect_bytes(Phase::output_dist, traffic.output_dist);
    expect_bytes(Phase::grad_dist, traffic.grad_dist);
    expect_bytes(Phase::update, traffic.update);
  }
}

void check_every_movement(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan) {
  for (const auto& transfer : placement::transfers)
    check_traffic(comm, options, plan, {.movement = {.transfer = transfer.value}});
  for (const auto& config : placement::replicated_gradients)
    check_traffic(comm, options, plan, {.movement = {.replicated_gradients = config.value}});
  for (const auto& dedup : placement::dedups)
    if (dedup.value != placement::Dedup::node || why_no_node_dedup(comm).empty())
      check_traffic(comm, options, plan,
                    {.movement = {.transfer = placement::RowTransfer::unique_rows, .dedup = dedup.value}});
}

TEST(Traffic, IsWhatIsSentOnEveryPlan) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const Pooling pooling : {Pooling::sum, Pooling::none})
    for (const auto kind : {OptimizerKind::rowwise_adagrad, OptimizerKind::lamb}) {
      SCOPED_TRACE(std::string(name_of(pooling)) + " " + std::string(name_of(kind)));
      RunOptions options = small_case(pooling, kind, false);
      options.workload.tables[1].optimizer.kind = OptimizerKind::sgd;
      options.workload.ids.weighted = kind == OptimizerKind::lamb;
      for (const std::string_view planner : planners_of_every_kind(comm.size()))
        check_every_movement(comm, options, plan_of(planner, options, comm.size()));
    }
}

TEST(Traffic, IsWhatIsSentForSegments) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = nested(small_case(Pooling::sum, OptimizerKind::sgd, false), 1);
  for (const std::string_view planner : planners_of_every_kind(comm.size()))
    check_every_movement(comm, options, plan_of(planner, options, comm.size()));
}

TEST(Traffic, IsWhatIsSentInEveryWireType) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, false);
  for (const auto& forward : value_types)
    for (const auto& backward : value_types)
      for (const std::string_view planner : {"row_wise", "column_wise"})
        for (const placement::RowTransfer transfer :
             {placement::RowTransfer::dense_partials, placement::RowTransfer::sparse_partials})
          check_traffic(comm, options, plan_of(planner, options, comm.size()),
                        {.movement = {.transfer = transfer, .wire = {forward.value, backward.value}}});
}

TEST(Traffic, IsWhatIsSentInEveryIdType) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const bool weighted : {false, true}) {
    RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, false);
    options.workload.ids.weighted = weighted;
    for (const std::string_view planner : planners_of_every_kind(comm.size()))
      for (const auto& transfer : placement::transfers)
        for (const auto& ids : placement::wire_ids)
          check_traffic(comm, options, plan_of(planner, options, comm.size()),
                        {.movement = {.transfer = transfer.value, .wire_ids = ids.value}});
  }
}

/// Bytes that the busiest rank sends in the first step, but for the update.
std::int64_t busiest(const RunOptions& options, const placement::Plan& plan, placement::RowTransfer transfer) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const auto batches = make_batch_source(options, [](const std::string&) {});
  ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
  tables.fill(options.row_values());
  const auto inputs = inputs_of(comm, options, *batches);
  const auto ready = ready_case(comm, tables, plan, {.movement = {.transfer = transfer}}, inputs.front());
  const PhaseCosts costs = training_step(ready->flight, inputs.front());
  return comm::all_reduce(comm, costs.sent() - costs.bytes[index_of(Phase::update)], comm::Reduce::max);
}

/// `bruck` of radix 2 sends a block for the rank at distance 3 twice, so that forwarding begins with four ranks.
TEST(Traffic, CountsForwardedBlocksBesideThePayload) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, false);
  const placement::Plan plan = plan_of("row_wise", options, comm.size());
  const auto total = [&](const auto& by_phase) {
    return comm::all_reduce(comm, std::reduce(by_phase.begin(), by_phase.end()), comm::Reduce::sum);
  };
  std::vector<std::int64_t> payloads;
  for (const std::string name : {"pairwise", "bruck:2"}) {
    const comm::NamedExchange exchange = comm::exchange_named(name);
    check_traffic(comm, options, plan, {.exchange = exchange});
    const auto batches = make_batch_source(options, [](const std::string&) {});
    ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
    tables.fill(options.row_values());
    const auto inputs = inputs_of(comm, options, *batches);
    const auto ready = ready_case(comm, tables, plan, {.exchange = exchange}, inputs.front());
    const PhaseCosts costs = training_step(ready->flight, inputs.front());
    payloads.push_back(total(costs.payload));
    EXPECT_EQ(total(costs.bytes) > payloads.back(), name == "bruck:2" && comm.size() > 3);
    EXPECT_GE(total(costs.bytes), payloads.back());
  }
  EXPECT_EQ(payloads.front(), payloads.back());
}

TEST(Traffic, OfAutoIsThatOfTheCheapestTransfer) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const auto& [rows, hotness] : {std::pair(20, 1), std::pair(20, 8), std::pair(5000, 1), std::pair(5000, 8)}) {
    SCOPED_TRACE(std::to_string(rows) + " rows, hotness " + std::to_string(hotness));
    RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, false);
    options.workload.tables = {{.name = "t", .rows = rows, .dim = 12}};
    options.workload.features = {{.name = "f", .table = 0, .pooling = Pooling::sum, .hotness = hotness},
                                 {.name = "g", .table = 0, .pooling = Pooling::mean, .hotness = 1}};
    const placement::Plan plan = plan_of("row_wise", options, comm.size());
    const std::int64_t bytes = busiest(options, plan, placement::RowTransfer::automatic);
    for (const auto& transfer : placement::transfers) {
      if (transfer.value == placement::RowTransfer::reduce_scatter_halving)
        continue;  // a rank with more samples sends a little less with it
      EXPECT_LE(bytes, busiest(options, plan, transfer.value)) << transfer.name;
    }
  }
}

TEST(Traffic, IsWhatIsSentOnRandomGridsOfShards) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const RunOptions options = small_case(Pooling::mean, OptimizerKind::rowwise_adam, false);
    const placement::Plan plan = placement::random_plan(options.workload.tables, comm.size(), random);
    placement::require_sound(plan, options.workload.tables, "random plan");
    check_every_movement(comm, options, plan);
  }
}

/// Four ranks as two nodes of two, in blocks and dealt out.
TEST(Traffic, BetweenNodesIsWhatIsSentWithEveryDedupAndWireType) {
  if (comm::Communicator(MPI_COMM_WORLD).size() != 4) GTEST_SKIP() << "needs 4 ranks";
  const RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, false);
  for (const std::vector<int>& leaders : {std::vector{0, 0, 2, 2}, std::vector{0, 1, 0, 1}}) {
    const comm::Communicator comm(MPI_COMM_WORLD, std::numeric_limits<int>::max(), leaders);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      std::mt19937_64 random(seed);
      const placement::Plan plan =
          seed == 0 ? plan_of("row_wise", options, 4) : placement::random_plan(options.workload.tables, 4, random);
      for (const placement::Dedup dedup : {placement::Dedup::off, placement::Dedup::local, placement::Dedup::owner,
                                           placement::Dedup::local_owner, placement::Dedup::node})
        for (const WireTypes wire : {WireTypes{}, WireTypes{ValueType::fp16, ValueType::int8}})
          check_traffic(comm, options, plan,
                        {.movement = {.transfer = placement::RowTransfer::unique_rows, .wire = wire, .dedup = dedup}});
    }
  }
}

TEST(Traffic, DedupAutoTakesNodeWhereAFifthLessLeavesTheBusiestNode) {
  if (comm::Communicator(MPI_COMM_WORLD).size() != 4) GTEST_SKIP() << "needs 4 ranks";
  const comm::Communicator comm(MPI_COMM_WORLD, std::numeric_limits<int>::max(), {0, 0, 2, 2});
  int times_node = 0;
  for (const std::int64_t rows : {20, 200, 400, 600, 800, 1000, 100000}) {
    SCOPED_TRACE(std::to_string(rows) + " rows");
    RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, false);
    options.workload.global_batch = 100;
    options.workload.tables = {{.name = "t", .rows = rows, .dim = 12}};
    options.workload.features = {{.name = "f", .table = 0, .pooling = Pooling::sum, .hotness = 8}};
    const placement::Plan plan = plan_of("row_wise", options, comm.size());
    const auto batches = make_batch_source(options, [](const std::string&) {});
    ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
    tables.fill(options.row_values());
    placement::Movement movement{.transfer = placement::RowTransfer::unique_rows};
    const auto inputs = inputs_of(comm, options, *batches);
    const auto ready = ready_case(comm, tables, plan, {.movement = movement}, inputs.front());
    training_step(ready->flight, inputs.front());

    const auto homes = homes_of(options, *batches, 0, comm.size());
    const placement::Decisions decided = decisions_of(comm, movement, plan, options.workload, homes);
    const auto busiest_node = [&](placement::Dedup dedup) {
      movement.dedup = dedup;
      const placement::Traffic traffic = placement::predict_traffic(
          plan, options.workload.tables, options.workload.features, homes, movement, decided, comm.node_of());
      std::vector<std::int64_t> sent(2);
      for (int from = 0; from < 4; ++from)
        for (const int to : comm.ranks_of(1 - comm.node_of(from)))
          for (const placement::ByteMatrix* bytes : {&traffic.input_dist, &traffic.output_dist, &traffic.grad_dist})
            sent[comm.node_of(from)] += (*bytes)(from, to);
      return std::ranges::max(sent);
    };
    const bool node = 5 * busiest_node(placement::Dedup::node) <= 4 * busiest_node(placement::Dedup::local);
    EXPECT_EQ(ready->embedding.picked_dedup(), node ? "node" : "local");
    times_node += node;
    movement.dedup = node ? placement::Dedup::node : placement::Dedup::local;
    const placement::Traffic traffic = placement::predict_traffic(
        plan, options.workload.tables, options.workload.features, homes, movement, decided, comm.node_of());
    for (int peer = 0; peer < 4; ++peer)
      EXPECT_EQ(traffic.input_dist(comm.rank(), peer),
                ready->flight.sent().to_ranks(index_of(Phase::input_dist)).payload[peer])
          << "what the decision took is not counted";
  }
  EXPECT_GT(times_node, 0);
  EXPECT_LT(times_node, 7);
}

}  // namespace
}  // namespace shardmark::workloads
