// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"

namespace shardmark {
namespace {

TEST(Faults, EveryFaultIsFoundInEveryPlan) {
  const Communicator comm(MPI_COMM_WORLD);
  for (const auto& fault : faults) {
    if (!makes_wrong_values(fault.value)) continue;
    for (const bool exact : {true, false}) {
      RunOptions options = small_case(Pooling::sum, exact ? OptimizerKind::sgd : OptimizerKind::rowwise_adagrad, exact);
      options.fault = fault.value;
      for (const auto& planner : planners)
        for (const auto& transfer : transfers)
          EXPECT_GT(wrong_values(comm, options, plan_of(planner.name, options, comm.size()),
                                 {.movement = {.transfer = transfer.value}}),
                    0)
              << fault.name << " " << planner.name << " " << transfer.name;
      for (const auto& how : replicated_gradients)
        EXPECT_GT(wrong_values(comm, options, plan_of("data_parallel", options, comm.size()),
                               {.movement = {.replicated_gradients = how.value}}),
                  0)
            << fault.name << " " << how.name;
    }
  }
}

TEST(Faults, EveryFaultIsFoundOnNarrowWires) {
  const Communicator comm(MPI_COMM_WORLD);
  for (const auto& fault : faults) {
    if (!makes_wrong_values(fault.value)) continue;
    RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
    options.fault = fault.value;
    for (const Case& movement : narrow_movements())
      EXPECT_GT(wrong_values(comm, options, plan_of("row_wise", options, comm.size()), movement), 0)
          << fault.name << " " << movement.name();
  }
}

TEST(Faults, EveryFaultIsFoundInGroups) {
  const Communicator comm(MPI_COMM_WORLD);
  for (const auto& fault : faults) {
    if (!makes_wrong_values(fault.value)) continue;
    RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
    options.fault = fault.value;
    EXPECT_GT(wrong_values(comm, options, plan_of("row_wise", options, comm.size()), {.groups = {3}}), 0) << fault.name;
  }
}

}  // namespace
}  // namespace shardmark
