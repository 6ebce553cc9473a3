// SPDX-License-Identifier: Apache-2.0
// What is said to be needed before a case is made, against what it then allocates.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "comm/collectives.hpp"
#include "workloads/measure/memory.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"
#include "workloads/step/training_step.hpp"

namespace shardmark {
namespace {

std::atomic<std::int64_t> allocated{0};

/// Bytes that arrays hold now are counted in `allocated`.
void count_allocations() {
  using Kokkos::Tools::SpaceHandle;
  Kokkos::Tools::Experimental::set_allocate_data_callback(
      [](const SpaceHandle, const char*, const void*, const std::uint64_t bytes) {
        allocated += static_cast<std::int64_t>(bytes);
      });
  Kokkos::Tools::Experimental::set_deallocate_data_callback(
      [](const SpaceHandle, const char*, const void*, const std::uint64_t bytes) {
        allocated -= static_cast<std::int64_t>(bytes);
      });
}

RunOptions large_case(Pooling pooling) {
  RunOptions options = small_case(pooling, OptimizerKind::sgd, false);
  options.checked_steps = 1;
  options.batches = 1;
  options.workload.global_batch = 4000;
  options.workload.ids = {.distribution = IdDistribution::uniform, .weighted = true};
  options.workload.tables = {{.name = "small", .rows = 4000, .dim = 16}, {.name = "large", .rows = 200000, .dim = 32}};
  options.workload.features = {{.name = "f", .table = 0, .pooling = pooling, .hotness = 10},
                               {.name = "g", .table = 1, .pooling = pooling, .hotness = 10}};
  return options;
}

double bytes_of_a_step(const Communicator& comm, const RunOptions& options, const Plan& plan, const Case& movement) {
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const std::int64_t before = allocated;
  const auto inputs = inputs_of(comm, options, *batches);
  ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
  tables.fill(options.row_values());
  const auto ready = ready_case(comm, tables, plan, movement, inputs.front());
  training_step(ready->flight, inputs.front());
  return static_cast<double>(allocated - before);
}

void check_estimate(const Communicator& comm, const RunOptions& options, const Case& movement) {
  for (const std::string_view planner : {"row_wise", "table_wise"}) {
    const Plan plan = plan_of(planner, options, comm.size());
    const double actual = bytes_of_a_step(comm, options, plan, movement);
    const double needed = memory_needed(plan, options, std::array{movement.movement}, comm.rank());
    EXPECT_LE(actual, needed) << planner << " " << movement.name();
    EXPECT_LE(all_reduce(comm, needed, Reduce::max), 3 * all_reduce(comm, actual, Reduce::max))
        << planner << " " << movement.name();
  }
}

TEST(Memory, NeededIsEnoughAndNotFarFromWhatIsAllocated) {
  count_allocations();
  const Communicator comm(MPI_COMM_WORLD);
  for (const Pooling pooling : {Pooling::sum, Pooling::none, Pooling::max}) {
    const RunOptions options = large_case(pooling);
    SCOPED_TRACE(name_of(pooling));
    for (const auto& transfer : transfers)
      if (pooling != Pooling::max || transfer.value == RowTransfer::unique_rows)
        check_estimate(comm, options, {.movement = {.transfer = transfer.value}});
    for (const auto& dedup : dedups)
      for (const WireTypes wire : {WireTypes{}, WireTypes{ValueType::fp16, ValueType::fp16}})
        if (dedup.value != Dedup::node)
          check_estimate(comm, options,
                         {.movement = {.transfer = RowTransfer::unique_rows, .wire = wire, .dedup = dedup.value}});
    if (comm.size() != 4) continue;
    const Communicator nodes(MPI_COMM_WORLD, std::numeric_limits<int>::max(), {0, 0, 2, 2});
    check_estimate(nodes, options, {.movement = {.transfer = RowTransfer::unique_rows, .dedup = Dedup::node}});
  }
}

TEST(Memory, LookupBytesCountEachDistinctRowOnce) {
  const Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = one_small_table();
  const std::int64_t ids = 37 * 40, ids_and_rows = ids * 8 + 12 * 4 * 4, ends_and_outputs = (37 + 1) * 8 + 37 * 4 * 4;
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const auto input = inputs_of(comm, options, *batches).front();
  for (const std::int64_t groups : {std::int64_t{1}, TableGroups::table}) {
    const Plan plan = plan_of("table_wise", options, comm.size());
    ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
    tables.fill(options.row_values());
    const auto ready = ready_case(comm, tables, plan, {.groups = {groups}}, input);
    training_step(ready->flight, input);
    EXPECT_EQ(all_reduce(comm, ready->flight.lookup_bytes(), Reduce::max), ids_and_rows + ends_and_outputs);
  }
  const Plan replicated = plan_of("data_parallel", options, comm.size());
  ShardedTables tables(replicated, options.workload.tables, options.workload.features, comm.rank());
  tables.fill(options.row_values());
  const auto ready = ready_case(comm, tables, replicated, {}, input);
  training_step(ready->flight, input);
  const std::int64_t samples = samples_of(37, comm.size(), comm.rank()).count;
  EXPECT_EQ(ready->flight.lookup_bytes(), samples * 40 * 8 + 12 * 4 * 4 + (samples + 1) * 8 + samples * 4 * 4);
}

}  // namespace
}  // namespace shardmark
