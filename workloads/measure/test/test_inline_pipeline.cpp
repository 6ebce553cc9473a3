// SPDX-License-Identifier: Apache-2.0
// A pipeline without threads, under an MPI that only one thread at a time may use.
#include <gtest/gtest.h>

#include "workloads/measure/test/both_directions.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/step/pipeline/stage_pool.hpp"

namespace shardmark::workloads {
namespace {

TEST(InlinePipeline, IsWhatIsMeantWhereThreadsMayNotUseMpi) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  if (comm::mpi_threads_given() == comm::MpiThreads::several) GTEST_SKIP() << "one program with tests of threads";
  const PoolFacts facts = pool_facts(comm, comm::observed_affinity());
  EXPECT_EQ(pool_in_effect({}, facts).kind, PoolKind::inlined);
  try {
    pool_in_effect({PoolKind::dedicated, 2}, facts);
    ADD_FAILURE() << "threads were given";
  } catch (const InputError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("--async-pool dedicated:2: this MPI gives no")) << error.what();
  }
}

TEST(InlinePipeline, EveryModeIsBitEqualAndNothingIsStale) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = small_case(Pooling::mean, OptimizerKind::rowwise_adagrad, false);
  for (const AsyncMode mode : {AsyncMode::ids, AsyncMode::rows, AsyncMode::patched})
    for (const char* planner : {"row_wise", "data_parallel+table_wise"}) {
      const Case config{.async = {.mode = mode, .pool = {PoolKind::inlined}}};
      EXPECT_EQ(different_steps(comm, options, plan_of(planner, options, comm.size()), config, 50), 0)
          << planner << " " << config.name();
    }
}

TEST(StagePool, ThreadsAreOfUseBesideASpareCoreOrBetweenNodes) {
  const auto meant = [](bool spare_core, bool one_node) {
    return pool_in_effect({}, {.mpi = comm::MpiThreads::several, .spare_core = spare_core, .one_node = one_node}).kind;
  };
  EXPECT_EQ(meant(false, true), PoolKind::inlined);
  EXPECT_EQ(meant(true, true), PoolKind::shared);
  EXPECT_EQ(meant(false, false), PoolKind::shared);
  const PoolFacts several{.mpi = comm::MpiThreads::several};
  for (const StagePool pool :
       {StagePool{PoolKind::inlined}, StagePool{PoolKind::shared}, StagePool{PoolKind::dedicated, 3}})
    EXPECT_EQ(pool_in_effect(pool, several), pool);
}

TEST(StagePool, DedicatedCoresAreTakenFromThoseThatCompute) {
  const comm::Affinity affinity{.processing_units = "4-7", .cores = {4, 5, 6, 7}};
  const CoreShares two = share_cores(affinity, 4, {PoolKind::dedicated, 2});
  EXPECT_EQ(two.compute, (std::vector{4, 5}));
  EXPECT_EQ(two.stages, (std::vector{6, 7}));
  EXPECT_EQ(two.threads_to_compute(0), 2);
  EXPECT_EQ(two.threads_to_compute(1), 1);
  EXPECT_EQ(two.threads_to_compute(4), 2);
  const CoreShares all = share_cores(affinity, 4, {PoolKind::shared});
  EXPECT_EQ(all.compute, affinity.cores);
  EXPECT_EQ(all.stages, affinity.cores);
  EXPECT_EQ(all.threads_to_compute(0), 0);
  EXPECT_THROW(share_cores(affinity, 4, {PoolKind::dedicated, 4}), InputError);
  EXPECT_THROW(share_cores(affinity, 2, {PoolKind::dedicated, 1}), InputError) << "two ranks use the same cores";
}

}  // namespace
}  // namespace shardmark::workloads
