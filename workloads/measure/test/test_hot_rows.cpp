// SPDX-License-Identifier: Apache-2.0
// Tables whose first rows are on every rank, the others split by rows.
#include <gtest/gtest.h>

#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"

namespace shardmark::workloads {
namespace {

/// One hot row, some, and all but one.
constexpr std::array<std::string_view, 3> hot_planners{"hot_rows:rows=1", "hot_rows:rows=20", "hot_rows:rows=1000000"};

TEST(HotRows, AreBitEqualWithEveryTransfer) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const Pooling pooling : {Pooling::sum, Pooling::none})
    for (const auto& transfer : placement::transfers)
      for (const std::string_view planner : hot_planners) {
        RunOptions options = small_case(pooling, OptimizerKind::sgd, true);
        options.workload.replicate_rows = 0;
        EXPECT_EQ(0, wrong_values(comm, options, plan_of(planner, options, comm.size()),
                                  {.movement = {.transfer = transfer.value}}))
            << name_of(pooling) << " " << planner << " " << transfer.name;
      }
}

/// Transfers, ways of replicated gradients and how many rows are hot take turns.
TEST(HotRows, ForEveryPoolingAndOptimizer) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  std::size_t next = 0;
  for (const auto& pooling : poolings)
    for (const auto& optimizer : optimizers) {
      if (pooling.value == Pooling::max) continue;
      RunOptions options = small_case(pooling.value, optimizer.value, false);
      options.workload.replicate_rows = 0;
      const placement::Plan plan = plan_of(hot_planners[next % hot_planners.size()], options, comm.size());
      const auto& gradients = placement::replicated_gradients[next % placement::replicated_gradients.size()];
      const Case config{.movement = {.transfer = placement::transfers[next % placement::transfers.size()].value,
                                     .replicated_gradients = gradients.value}};
      EXPECT_EQ(0, wrong_values(comm, options, plan, config))
          << pooling.name << " " << optimizer.name << " " << plan.name << " " << config.name();
      ++next;
    }
}

}  // namespace
}  // namespace shardmark::workloads
