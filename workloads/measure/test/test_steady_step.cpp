// SPDX-License-Identifier: Apache-2.0
// A step whose sizes have been seen before allocates no memory of Kokkos, whatever travels and how rows are updated.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "comm/placement/support.hpp"
#include "reference/error.hpp"
#include "workloads/measure/test/planners_of_every_kind.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_tts.hpp"

namespace shardmark::workloads {
namespace {

std::map<std::string, int> label_counts;  // how often, by label

/// While it lives, Kokkos tells `label_counts` what it allocates. On GPUs it asks for no bytes of scratch memory before
/// each kernel of teams that needs none.
class Watch {
 public:
  Watch() {
    label_counts.clear();
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle, const char* label, const void*, std::uint64_t bytes) {
          if (bytes > 0) ++label_counts[label];
        });
  }
  ~Watch() { Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr); }
};

/// Calls watched(inputs, flight, model) when each batch has been taken before.
template <class Watched>
auto in_steady_steps(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan,
                     const Case& config, const Watched& watched) {
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const auto inputs = inputs_of(comm, options, *batches);
  ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
  tables.fill(options.row_values());
  const auto ready = ready_case(comm, tables, plan, config, inputs.front());
  const auto dense = make_dense_model(comm, options);
  for (int round = 0; round < 2; ++round)
    for (const StepInput& input : inputs) training_step(ready->flight, input, *dense);
  return watched(inputs, ready->flight, *dense);
}

/// What the steps over all batches allocate then.
std::map<std::string, int> allocated_by_steady_steps(const comm::Communicator& comm, const RunOptions& options,
                                                     const placement::Plan& plan, const Case& config) {
  return in_steady_steps(comm, options, plan, config,
                         [](const std::vector<StepInput>& inputs, Flight& flight, DenseModel& dense) {
                           const Watch watch;
                           for (const StepInput& input : inputs) training_step(flight, input, dense);
                           return label_counts;
                         });
}

TEST(SteadyStep, TheWatchSeesAllocations) {
  const Watch watch;
  const DeviceArray<int> array("seen", 1);
  EXPECT_EQ(label_counts, (std::map<std::string, int>{{"seen", 1}}));
}

class SteadySteps : public testing::Test {
 protected:
  void expect_none(const RunOptions& options, std::string_view planner, const Case& config) {
    const placement::Plan plan = plan_of(planner, options, comm_.size());
    try {
      placement::require_supported(plan, options.workload.tables, options.workload.features, config.movement);
    } catch (const InputError&) {
      return;
    }
    EXPECT_EQ(allocated_by_steady_steps(comm_, options, plan, config), (std::map<std::string, int>()))
        << planner << " " << config.name();
  }

  const comm::Communicator comm_{MPI_COMM_WORLD};
};

TEST_F(SteadySteps, OfEveryTransferAndDedupAllocateNothing) {
  for (const Pooling pooling : {Pooling::sum, Pooling::mean, Pooling::max, Pooling::none}) {
    SCOPED_TRACE(name_of(pooling));
    const RunOptions options = small_case(pooling, OptimizerKind::adagrad, false);
    for (const auto& transfer : placement::transfers) {
      if (transfer.value == placement::RowTransfer::unique_rows) continue;
      for (const char* planner : {"row_wise", "hot_rows"})
        expect_none(options, planner, {.movement = {.transfer = transfer.value}});
    }
    for (const auto& dedup : placement::dedups) {
      if (dedup.value == placement::Dedup::node) continue;  // needs several nodes
      for (const char* planner : {"row_wise", "hot_rows"})
        expect_none(options, planner,
                    {.movement = {.transfer = placement::RowTransfer::unique_rows, .dedup = dedup.value}});
    }
    for (const auto& config : placement::replicated_gradients)
      expect_none(options, "data_parallel", {.movement = {.replicated_gradients = config.value}});
  }
}

TEST_F(SteadySteps, OfSegmentsAllocateNothing) {
  const RunOptions options = nested(small_case(Pooling::mean, OptimizerKind::adagrad, false), 1);
  for (const auto& transfer : placement::transfers)
    for (const char* planner : {"row_wise", "hot_rows"})
      expect_none(options, planner, {.movement = {.transfer = transfer.value}});
}

TEST_F(SteadySteps, OfEveryOptimizerAllocateNothing) {
  for (const auto& optimizer : optimizers) {
    SCOPED_TRACE(optimizer.name);
    const RunOptions options = small_case(Pooling::sum, optimizer.value, false);
    for (const std::string_view planner : planners_of_every_kind(comm_.size())) expect_none(options, planner, {});
  }
}

TEST_F(SteadySteps, OfTensorTrainsAllocateNothing) {
  for (const Pooling pooling : {Pooling::sum, Pooling::max})
    for (const std::string_view planner : tt_planners) {
      RunOptions options = small_tts(pooling, OptimizerKind::adagrad, false);
      for (Table& table : options.workload.tables) table.tensor_train.fused_update = pooling == Pooling::sum;
      expect_none(options, planner, {});
    }
  RunOptions cached = small_tts(Pooling::sum, OptimizerKind::adagrad, false);
  cached.workload.tables[2].tensor_train.cache = {.rows = 100, .populate_every = 1000};
  expect_none(cached, "table_wise", {});
}

TEST_F(SteadySteps, OfNarrowWiresAndGroupsAllocateNothing) {
  const RunOptions options = small_case(Pooling::mean, OptimizerKind::rowwise_adagrad, false);
  for (const Case& config : narrow_movements()) expect_none(options, "row_wise", config);
  Case two_groups;
  two_groups.groups = {2, placement::GroupBalance::count};
  for (const auto& transfer : placement::transfers) {
    two_groups.movement.transfer = transfer.value;
    expect_none(options, "row_wise", two_groups);
  }
}

TEST_F(SteadySteps, OfDenseModelsAllocateNothing) {
  for (const DenseKind kind : {DenseKind::exact, DenseKind::mlp, DenseKind::dlrm, DenseKind::dcnv2})
    expect_none(dense_case(kind, Pooling::sum), "table_wise", {});
}

#ifdef SHARDMARK_EMULATED_DEVICE
using Counts = kernels::emulated::Device::Counts;

/// What a step of dense partials makes the device do.
Counts counts_of_a_step(const comm::Communicator& comm, const RunOptions& options, std::string_view planner,
                        const comm::NamedExchange& exchange = comm::default_exchange()) {
  return in_steady_steps(comm, options, plan_of(planner, options, comm.size()),
                         {.movement = {.transfer = placement::RowTransfer::dense_partials}, .exchange = exchange},
                         [](const std::vector<StepInput>& inputs, Flight& flight, DenseModel& dense) -> Counts {
                           const Counts before = kernels::emulated::Device::get().counts();
                           training_step(flight, inputs.front(), dense);
                           const Counts after = kernels::emulated::Device::get().counts();
                           return {after.launches - before.launches, after.copies_to_host - before.copies_to_host,
                                   after.waits - before.waits, after.allocations - before.allocations};
                         });
}

/// These are the numbers of 2026-11-27, of which none may grow.
TEST_F(SteadySteps, LaunchAndWaitNoMoreThanTheyDid) {
  RunOptions options = small_case(Pooling::sum, OptimizerKind::adagrad, true);
  options.workload.ids = {};
  // Where no rows are split, nobody counts ids.
  const std::map<std::string, Counts> most_of{
      {"table_wise", {.launches = 15, .copies_to_host = 1, .waits = 2, .allocations = 0}},
      {"row_wise", {.launches = 19, .copies_to_host = 2, .waits = 2, .allocations = 0}}};
  for (const auto& [planner, most] : most_of) {
    SCOPED_TRACE(planner);
    const Counts counts = counts_of_a_step(comm_, options, planner);
    EXPECT_LE(counts.launches, most.launches);
    EXPECT_LE(counts.copies_to_host, most.copies_to_host);
    EXPECT_LE(counts.waits, most.waits);
    EXPECT_LE(counts.allocations, most.allocations);
  }
}

/// What the model behind the embeddings adds to a step of tables by rank.
Counts counts_of_dense_model(const comm::Communicator& comm, RunOptions options, const comm::NamedExchange& exchange) {
  options.batches = options.checked_steps = 1;  // the lists of its pooled embeddings stay the same
  const Counts with = counts_of_a_step(comm, options, "table_wise", exchange);
  options.dense.kind = DenseKind::none;
  const Counts without = counts_of_a_step(comm, options, "table_wise", exchange);
  return {with.launches - without.launches, with.copies_to_host - without.copies_to_host, with.waits - without.waits,
          with.allocations};
}

/// dense_case(dlrm) with so many buckets of gradients.
RunOptions buckets_of_gradients(std::int64_t buckets) {
  RunOptions options = dense_case(DenseKind::dlrm, Pooling::sum);
  if (buckets > 1) options.workload.dense->top_mlp = {600, 500, 400, 1};
  return options;
}

/// NCCL sums the gradients of weights behind the kernels that compute them.
TEST_F(SteadySteps, WaitForNoDenseModel) {
  std::vector<RunOptions> models{buckets_of_gradients(2)};
  for (const DenseKind kind : {DenseKind::mlp, DenseKind::dlrm, DenseKind::dcnv2})
    models.push_back(dense_case(kind, Pooling::sum));
  for (const RunOptions& options : models) {
    SCOPED_TRACE(name_of(options.dense.kind));
    const Counts counts = counts_of_dense_model(comm_, options, comm::default_exchange());
    EXPECT_EQ(counts.copies_to_host, 0);
    EXPECT_EQ(counts.waits, 0);
    EXPECT_EQ(counts.allocations, 0);
  }
}

/// MPI sums each bucket in memory of the host.
TEST_F(SteadySteps, WaitForGradientsThatMpiSums) {
  for (const std::int64_t buckets : {1, 2}) {
    SCOPED_TRACE(buckets);
    const std::int64_t sums = comm_.size() > 1 ? buckets : 0;
    const Counts counts =
        counts_of_dense_model(comm_, buckets_of_gradients(buckets), comm::exchange_named("host_staged"));
    EXPECT_EQ(counts.copies_to_host, sums);
    EXPECT_EQ(counts.waits, 2 * sums);
    EXPECT_EQ(counts.allocations, 0);
  }
}

/// The gradients of tables that all ranks have are summed where they lie, and on one rank not at all.
TEST_F(SteadySteps, WaitForNoSumsOfReplicatedTables) {
  const RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  const Counts by_nccl = counts_of_a_step(comm_, options, "data_parallel"),
               by_mpi = counts_of_a_step(comm_, options, "data_parallel", comm::exchange_named("host_staged"));
  const std::int64_t sums = comm_.size() > 1 ? 1 : 0;
  EXPECT_LE(by_nccl.copies_to_host, by_mpi.copies_to_host - sums);
  EXPECT_LE(by_nccl.waits, by_mpi.waits - 2 * sums);
}
#endif

}  // namespace
}  // namespace shardmark::workloads
