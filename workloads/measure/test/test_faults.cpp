// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>

#include "workloads/measure/test/planners_of_every_kind.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {
namespace {

/// The fault makes wrong values exactly where it finds something to spoil.
void expect_found(const Choice<Fault>& fault, const comm::Communicator& comm, RunOptions options,
                  std::string_view planner, const Case& config) {
  options.fault = fault.value;
  const placement::Plan plan = plan_of(planner, options, comm.size());
  EXPECT_EQ(wrong_values(comm, options, plan, config) > 0, finds_prey(fault.value, options, plan))
      << fault.name << " " << planner << " " << config.name();
}

/// Whether how data travel may hide it. The other faults are committed on what a rank holds in the end.
bool depends_on_travel(Fault fault) { return fault <= Fault::update; }

/// Exact steps and those inside a bound take turns.
TEST(Faults, EveryFaultIsFoundInEveryPlan) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const std::array<RunOptions, 2> cases{small_case(Pooling::sum, OptimizerKind::sgd, true),
                                        small_case(Pooling::sum, OptimizerKind::rowwise_adagrad, false)};
  std::size_t turn = 0;
  for (const auto& fault : faults) {
    if (!makes_wrong_values(fault.value)) continue;
    ++turn;  // so that one fault in one plan has both by several transfers, and faults begin with each
    for (const std::string_view planner : planners_of_every_kind(comm.size()))
      for (const auto& transfer : placement::transfers)
        if (depends_on_travel(fault.value) || transfer.value == placement::RowTransfer::dense_partials)
          expect_found(fault, comm, cases[turn++ % 2], planner, {.movement = {.transfer = transfer.value}});
    for (const RunOptions& options : cases)
      for (const auto& config : placement::replicated_gradients)
        expect_found(fault, comm, options, "data_parallel", {.movement = {.replicated_gradients = config.value}});
  }
}

TEST(Faults, EveryFaultOfTravelIsFoundOnNarrowWires) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const auto& fault : faults) {
    const RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
    if (!makes_wrong_values(fault.value) || !depends_on_travel(fault.value)) continue;
    for (const Case& movement : narrow_movements()) expect_found(fault, comm, options, "row_wise", movement);
  }
}

TEST(Faults, EveryFaultIsFoundInGroups) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const auto& fault : faults) {
    if (!makes_wrong_values(fault.value)) continue;
    for (const char* planner : {"row_wise", "data_parallel+table_wise"})
      expect_found(fault, comm, small_case(Pooling::sum, OptimizerKind::adagrad, false), planner, {.groups = {3}});
  }
}

/// Values that the check finds wrong after one step, so that nothing of the next step can show the fault.
std::int64_t wrong_after_one_step(const comm::Communicator& comm, std::string_view planner, OptimizerKind kind,
                                  Fault fault) {
  RunOptions options = small_case(Pooling::sum, kind, false);
  options.checked_steps = options.batches = 1;
  options.fault = fault;
  return wrong_values(comm, options, plan_of(planner, options, comm.size()), {});
}

/// What only one term of the check can see: each planner's plan is found wrong in the one number that was changed on
/// each rank that has one.
TEST(Faults, StateIsComparedThoughValuesAreRight) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const std::string_view planner : planners_of_every_kind(comm.size()))
    for (const OptimizerKind kind : {OptimizerKind::rowwise_adagrad, OptimizerKind::adagrad, OptimizerKind::lamb}) {
      const std::int64_t wrong = wrong_after_one_step(comm, planner, kind, Fault::state);
      EXPECT_TRUE(wrong > 0 && wrong <= comm.size()) << planner << ": " << wrong;
    }
}

TEST(Faults, ARowThatNoIdAskedForIsSeenToChange) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const std::string_view planner : planners_of_every_kind(comm.size()))
    for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::rowwise_adagrad}) {
      const std::int64_t wrong = wrong_after_one_step(comm, planner, kind, Fault::stray_row);
      EXPECT_TRUE(wrong > 0 && wrong <= comm.size()) << planner << ": " << wrong;
    }
}

TEST(Faults, ACopyOfAReplicatedTableIsCheckedOnEveryRank) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  EXPECT_GT(wrong_after_one_step(comm, "data_parallel", OptimizerKind::sgd, Fault::one_replica), 0);
  EXPECT_EQ(wrong_after_one_step(comm, "row_wise", OptimizerKind::sgd, Fault::one_replica), 0);
}

TEST(Faults, StepsAfterTheFirstAreChecked) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  EXPECT_EQ(wrong_after_one_step(comm, "row_wise", OptimizerKind::sgd, Fault::late_step), 0);
  expect_found(faults[index_of(Fault::late_step)], comm, small_case(Pooling::sum, OptimizerKind::sgd, true), "row_wise",
               {});
}

/// A watchdog holds for stuck what enters nothing: the steps that are taken serially do for each feature and table.
TEST(Expectation, GoesOnFromFeatureToTableForTheWatchdog) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const std::int64_t before = phases_entered();
  const Expectation expectation(comm, options, *batches);
  const std::int64_t of_a_step = std::ssize(options.workload.features) + std::ssize(options.workload.tables);
  EXPECT_GE(phases_entered() - before, options.checked_steps * of_a_step);
}

}  // namespace
}  // namespace shardmark::workloads
