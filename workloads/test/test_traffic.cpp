// SPDX-License-Identifier: Apache-2.0
// What a step sends against what comm/placement says of the same ids.
#include <gtest/gtest.h>

#include "comm/placement/check.hpp"
#include "comm/placement/traffic.hpp"
#include "workloads/test/plans.hpp"
#include "workloads/test/small_case.hpp"
#include "workloads/training_step.hpp"

namespace shardmark {
namespace {

/// The ids of every rank's own samples.
std::vector<Batch> homes_of(const RunOptions& options, BatchSource& batches, std::int64_t step, int ranks) {
  std::vector<Batch> homes;
  for (int r = 0; r < ranks; ++r) {
    const SampleRange samples = samples_of(options.workload.global_batch, ranks, r);
    homes.push_back(batches.read(step, samples.first, samples.count));
  }
  return homes;
}

void check_traffic(const RunOptions& options, const Plan& plan, const Movement& movement) {
  SCOPED_TRACE(plan.name + " " + movement.name());
  const Communicator comm(MPI_COMM_WORLD);
  const Workload& workload = options.workload;
  const auto batches = make_batch_source(options, [](const std::string&) {});
  ShardedTables tables(plan, workload.tables, workload.features, comm.rank());
  tables.fill(options.row_values());
  ShardedEmbedding embedding(comm, tables, plan, movement);
  const auto inputs = inputs_of(comm, options, *batches);
  for (std::int64_t step = 0; step < std::ssize(inputs); ++step) {
    const PhaseCosts costs = training_step(embedding, inputs[static_cast<std::size_t>(step)]);
    const Traffic traffic =
        predict_traffic(plan, workload.tables, workload.features, homes_of(options, *batches, step, comm.size()),
                        {choice_named(transfers, "transfer", movement.transfer).mode, movement.wire});
    const auto expect_bytes = [&](Phase phase, const ByteMatrix& bytes) {
      const auto where = std::string(phase_names[static_cast<std::size_t>(phase)]) + ", step " + std::to_string(step) +
                         ", rank " + std::to_string(comm.rank());
      EXPECT_EQ(bytes.sent_by(comm.rank()), costs.bytes[static_cast<std::size_t>(phase)]) << where;
      for (int peer = 0; peer < comm.size(); ++peer)
        EXPECT_EQ(bytes(comm.rank(), peer), embedding.sent().to_ranks(phase)[static_cast<std::size_t>(peer)])
            << where << " to " << peer;
    };
    expect_bytes(Phase::input_dist, traffic.input_dist);
    expect_bytes(Phase::output_dist, traffic.output_dist);
    expect_bytes(Phase::grad_dist, traffic.grad_dist);
    expect_bytes(Phase::update, traffic.update);
  }
}

void check_every_transfer(const RunOptions& options, const Plan& plan) {
  for (const auto& transfer : transfers) check_traffic(options, plan, {std::string(transfer.name), "pairwise"});
}

TEST(Traffic, IsWhatIsSentOnEveryPlan) {
  const Communicator comm(MPI_COMM_WORLD);
  for (const Pooling pooling : {Pooling::sum, Pooling::none})
    for (const auto kind : {OptimizerKind::rowwise_adagrad, OptimizerKind::lamb}) {
      SCOPED_TRACE(std::string(name_of(pooling)) + " " + std::string(name_of(kind)));
      RunOptions options = small_case(pooling, kind, false);
      options.workload.tables[1].optimizer.kind = OptimizerKind::sgd;
      options.workload.ids.weighted = kind == OptimizerKind::lamb;
      for (const auto& planner : planners) check_every_transfer(options, plan_of(planner.name, options, comm.size()));
    }
}

TEST(Traffic, IsWhatIsSentInEveryWireType) {
  const Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, false);
  for (const auto& forward : value_types)
    for (const auto& backward : value_types)
      for (const std::string_view planner : {"row_wise", "column_wise"})
        for (const std::string transfer : {"dense_partials", "sparse_partials"})
          check_traffic(options, plan_of(planner, options, comm.size()),
                        {.transfer = transfer, .wire = {forward.value, backward.value}});
}

TEST(Traffic, IsWhatIsSentOnRandomGridsOfShards) {
  const Communicator comm(MPI_COMM_WORLD);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const RunOptions options = small_case(Pooling::mean, OptimizerKind::rowwise_adam, false);
    const Plan plan = random_plan(options.workload.tables, comm.size(), random);
    require_sound(plan, options.workload.tables, "random plan");
    check_every_transfer(options, plan);
  }
}

}  // namespace
}  // namespace shardmark
