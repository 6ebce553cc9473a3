// SPDX-License-Identifier: Apache-2.0
// This compares prefetched steps with steps one after the other and beside the reference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "comm/placement/support.hpp"
#include "workloads/cases/async.hpp"
#include "workloads/measure/test/both_directions.hpp"
#include "workloads/measure/test/planners_of_every_kind.hpp"
#include "workloads/measure/test/plans.hpp"

/// For the main of the tests.
int mpi_threads_of_tests() { return MPI_THREAD_MULTIPLE; }

namespace shardmark::workloads {
namespace {

bool can_take(const RunOptions& options, const placement::Plan& plan, const Case& config) {
  try {
    placement::require_supported(plan, options.workload.tables, options.workload.features, config.movement);
    require_async(plan, options.workload.tables, options.workload.features, config);
    placement::group_of_tables(config.groups, plan, options.workload.tables, options.workload.features);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

constexpr AsyncOrder by_completion = AsyncOrder::completion;

const std::array exact_ones{Async{.mode = AsyncMode::ids, .threads = 2, .capacity = 2},
                            Async{.mode = AsyncMode::rows, .threads = 2, .capacity = 2, .bound = 0},
                            Async{.mode = AsyncMode::patched, .threads = 2, .capacity = 2},
                            Async{.mode = AsyncMode::patched, .threads = 1, .capacity = 3, .bound = 7},
                            Async{.mode = AsyncMode::ids, .threads = 3, .order = by_completion, .capacity = 2},
                            Async{.mode = AsyncMode::rows, .threads = 2, .order = by_completion, .bound = 0},
                            Async{.mode = AsyncMode::patched, .threads = 3, .order = by_completion, .bound = 5}};

const std::array stale_ones{Async{.mode = AsyncMode::rows}, Async{.mode = AsyncMode::rows, .threads = 3},
                            Async{.mode = AsyncMode::rows, .threads = 3, .order = by_completion}};

TEST(Pipeline, ExactModesAreBitEqualOverTwoHundredSteps) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const int steps = host_reaches_arrays ? 200 : 40;  // those of an emulated device take ten times as long
  std::size_t turn = 0;                              // exact_ones are an odd number: each meets both plans
  for (const OptimizerKind optimizer : {OptimizerKind::sgd, OptimizerKind::rowwise_adagrad}) {
    const RunOptions options = small_case(Pooling::mean, optimizer, false);
    for (const Async& async : exact_ones) {
      const char* planner = turn++ % 2 == 0 ? "row_wise" : "data_parallel+table_wise";
      EXPECT_EQ(different_steps(comm, options, plan_of(planner, options, comm.size()), {.async = async}, steps), 0)
          << planner << " " << Case{.async = async}.name();
    }
  }
}

/// Of whose outputs gradients depend.
RunOptions case_with(DenseKind kind) {
  RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, kind == DenseKind::exact);
  options.dense.kind = kind;
  options.workload.dense = DenseSpec{.kind = DenseKind::mlp, .numerical_features = 3, .top_mlp = {8, 1}};
  return options;
}

TEST(Pipeline, ExactModesAreBitEqualBehindDenseModels) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const DenseKind kind : {DenseKind::exact, DenseKind::mlp}) {
    const RunOptions options = case_with(kind);
    for (const Async& async : exact_ones)
      EXPECT_EQ(different_steps(comm, options, plan_of("row_wise", options, comm.size()), {.async = async}, 30), 0)
          << name_of(kind) << " " << Case{.async = async}.name();
  }
}

TEST(Pipeline, StaleRowsBehindDenseModelsAreThoseOfTheRecordedVersions) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const DenseKind kind : {DenseKind::exact, DenseKind::mlp})
    for (const auto& async : stale_ones) {
      RunOptions options = case_with(kind);
      options.checked_steps = options.batches = 6;
      const Case config{.async = async};
      const placement::Plan plan = plan_of("row_wise", options, comm.size());
      Both both(comm, options, plan, config);
      Expectation expectation(comm, options, *both.batches, {}, {}, config.async);
      ASSERT_TRUE(expectation.follows());
      EXPECT_EQ(
          find_wrong(comm, expectation, options.row_values(), *both.ready->pipeline, *both.dense, both.inputs).count, 0)
          << name_of(kind) << " " << config.name();
    }
}

TEST(Pipeline, ExactModesAreBitEqualForEveryPlanTransferAndPooling) {
  if (host_reaches_arrays) GTEST_SKIP() << "the net draws asynchronous modes";
  const comm::Communicator comm(MPI_COMM_WORLD);
  std::size_t turn = 0, taken = 0;
  for (const Pooling pooling : {Pooling::sum, Pooling::none, Pooling::max, Pooling::sqrtn}) {
    const bool even = pooling == Pooling::sum || pooling == Pooling::max;
    std::size_t number = 0;
    for (const std::string_view planner : planners_of_every_kind(comm.size())) {
      ++number;
      for (const auto& transfer : placement::transfers) {
        if ((number + index_of(transfer.value)) % 2 != even) continue;  // two poolings for each
        const RunOptions options = small_case(pooling, OptimizerKind::adagrad, false);
        const placement::Plan plan = plan_of(planner, options, comm.size());
        Case config{.movement = {.transfer = transfer.value}, .async = exact_ones[turn++ % exact_ones.size()]};
        if (turn % 3 == 0) config.groups = {2};
        if (turn % 5 == 0 && !placement::adds_on_the_way(transfer.value))
          config.movement.wire = {ValueType::bf16, ValueType::fp16};
        if (!can_take(options, plan, config)) continue;
        ++taken;
        EXPECT_EQ(different_steps(comm, options, plan, config, 7), 0)
            << name_of(pooling) << " " << planner << " " << config.name();
      }
    }
  }
  EXPECT_GT(taken, 20u);
}

TEST(Pipeline, StaleRowsAreThoseOfTheRecordedVersions) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const auto& async : stale_ones)
    for (const char* planner : {"row_wise", "column_wise", "data_parallel"}) {
      RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
      options.checked_steps = options.batches = 12;
      const Case config{.async = async};
      const placement::Plan plan = plan_of(planner, options, comm.size());
      Both both(comm, options, plan, config);
      Expectation expectation(comm, options, *both.batches, {}, {}, config.async);
      EXPECT_EQ(
          find_wrong(comm, expectation, options.row_values(), *both.ready->pipeline, *both.dense, both.inputs).count, 0)
          << planner << " " << config.name();
    }
}

/// Holds the first step until the next batch has been looked up.
class WaitingModel : public SyntheticGradient {
 public:
  explicit WaitingModel(const Pipeline& pipeline) : pipeline_(pipeline) {}

  ConstDeviceArray<float> run(const StepInput& input, const Flight& outputs, PhaseCosts& costs) override {
    while (pipeline_.counts().prepared < 2) std::this_thread::yield();
    return SyntheticGradient::run(input, outputs, costs);
  }

 private:
  const Pipeline& pipeline_;
};

/// That the check could tell: rows that lack an update are not those of a step after it, and patches mend them.
TEST(Pipeline, ALookupDuringTheStepBeforeIsStaleUnlessItIsPatched) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  for (const AsyncMode mode : {AsyncMode::ids, AsyncMode::rows, AsyncMode::patched}) {
    const Case config{.async = {.mode = mode}};
    Both both(comm, options, plan_of("row_wise", options, comm.size()), config);
    training_step(both.ready->flight, both.inputs[0]);
    const auto reference = [&] {
      both.tables.fill(options.row_values());
      training_step(both.ready->flight, both.inputs[0]);
      training_step(both.ready->flight, both.inputs[1]);
      return outputs_of(both.ready->flight, both.inputs[1]);
    }();
    both.tables.fill(options.row_values());
    Pipeline& pipeline = *both.ready->pipeline;
    pipeline.start(both.inputs, 0, 2);
    WaitingModel model(pipeline);
    pipeline.step(model);
    pipeline.step(model);
    const bool equal = comm::all_reduce(comm, outputs_of(pipeline.flight(), pipeline.input()) == reference ? 1 : 0,
                                        comm::Reduce::min) == 1;
    EXPECT_EQ(equal, mode != AsyncMode::rows) << name_of(mode);
    EXPECT_EQ(pipeline.staleness(), mode == AsyncMode::rows ? 1 : 0);
    pipeline.finish();
    const std::int64_t again = comm::all_reduce(comm, pipeline.patched().again, comm::Reduce::sum);
    EXPECT_EQ(again > 0, mode == AsyncMode::patched);
  }
}

TEST(Pipeline, ASlowRankChangesNothing) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  options.fault = Fault::slow;
  for (const Async& async : exact_ones)
    EXPECT_EQ(different_steps(comm, options, plan_of("row_wise", options, comm.size()), {.async = async}, 10), 0);
}

TEST(Pipeline, FaultsAreFoundThoughStepsArePreparedAhead) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const auto& fault : faults) {
    if (!makes_wrong_values(fault.value)) continue;
    for (const AsyncMode mode : {AsyncMode::ids, AsyncMode::rows, AsyncMode::patched}) {
      // It begins with the first update, which prefetched lookups may precede.
      if (fault.value == Fault::late_step && mode != AsyncMode::ids) continue;
      RunOptions options = small_case(Pooling::sum, OptimizerKind::adagrad, false);
      options.fault = fault.value;
      const placement::Plan plan = plan_of("data_parallel+table_wise", options, comm.size());
      const Case config{.async = {.mode = mode}};
      Both both(comm, options, plan, config);
      Expectation expectation(comm, options, *both.batches, {}, {}, config.async);
      EXPECT_EQ(
          find_wrong(comm, expectation, options.row_values(), *both.ready->pipeline, *both.dense, both.inputs).count >
              0,
          finds_prey(fault.value, options, plan))
          << fault.name << " " << name_of(mode);
    }
  }
}

TEST(Pipeline, WhatCannotBePreparedAheadIsRefusedByName) {
  const RunOptions options = small_case(Pooling::max, OptimizerKind::sgd, false);
  const auto message_of = [&](const RunOptions& run, const Case& config) -> std::string {
    try {
      require_async(plan_of("row_wise", run, 2), run.workload.tables, run.workload.features, config);
    } catch (const InputError& error) {
      return error.what();
    }
    return "supported";
  };
  EXPECT_EQ(message_of(options, {.async = {.mode = AsyncMode::rows}}).find("feature f0 pools by max"), 0u);
  EXPECT_EQ(message_of(options, {.async = {.mode = AsyncMode::patched}}), "supported");
  EXPECT_EQ(message_of(options, {.movement = {.transfer = placement::RowTransfer::unique_rows},
                                 .async = {.mode = AsyncMode::patched}})
                .find("plan row_wise: --async patched"),
            0u);
  RunOptions tts = options;
  tts.workload.tables.front().storage = Storage::tt;
  EXPECT_EQ(message_of(tts, {.async = {.mode = AsyncMode::patched}}).find("table t0: storage tt"), 0u);
  EXPECT_EQ(message_of(tts, {.async = {.mode = AsyncMode::ids}}), "supported");
}

}  // namespace
}  // namespace shardmark::workloads
