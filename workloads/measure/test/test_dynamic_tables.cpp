// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "comm/collectives.hpp"
#include "workloads/measure/test/planners_of_every_kind.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"
#include "workloads/tables/dynamic/dynamic_store.hpp"

namespace shardmark::workloads {
namespace {

/// Returns rules as options name them.
DynamicRules rules(std::string_view admit, std::string_view evict = "none", std::int64_t capacity = 0,
                   AbsentRows absent = AbsentRows::zero) {
  return {reference::admission_named(admit), reference::eviction_named(evict, capacity), absent};
}

RunOptions dynamic(RunOptions options, const DynamicRules& rules) {
  for (Table& table : options.workload.tables) {
    table.storage = Storage::dynamic;
    table.dynamic = rules;
  }
  return options;
}

/// Returns the same options with keys of every other table that are any of the 2^64 integers.
RunOptions any_keys(RunOptions options) {
  for (std::size_t t = 0; t < options.workload.tables.size(); t += 2) options.workload.tables[t].any_key = true;
  return options;
}

/// Returns the planners whose plans rows that come and go can have.
std::vector<std::string_view> planners_of_one_place(const RunOptions& options, int ranks) {
  std::vector<std::string_view> planners;
  for (const std::string_view planner : planners_of_every_kind(ranks))
    if (std::ranges::none_of(plan_of(planner, options, ranks).tables, placement::has_replicas))
      planners.push_back(planner);
  return planners;
}

/// Returns a step of a few ids each of many rows, so that some come back, some leave for good, and a bucket has a few.
RunOptions many_rows(const DynamicRules& rules) {
  RunOptions options = dynamic(one_small_table(), rules);
  options.workload.tables.front().rows = 20'000;
  options.workload.features.front().hotness = 10;
  options.workload.ids.distribution = IdDistribution::uniform;
  options.checked_steps = options.batches = 40;
  return options;
}

TEST(DynamicTables, StepsAreRightForEveryPlanTransferAndRule) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const std::array all{rules("all"), rules("counter:2", "idle:1"), rules("counter:2", "none", 0, AbsentRows::initial),
                       rules("bloom:2:0.3", "idle:0", 0, AbsentRows::initial), rules("bloom:300:0.3")};
  std::size_t turn = 0;
  for (const bool exact : {true, false}) {
    const RunOptions plain = small_case(exact ? Pooling::sum : Pooling::mean,
                                        exact ? OptimizerKind::sgd : OptimizerKind::rowwise_adagrad, exact);
    for (const std::string_view planner : planners_of_one_place(plain, comm.size()))
      for (const auto& transfer : placement::transfers) {
        const bool any = (turn + turn / placement::transfers.size()) % 2 == 1;
        const RunOptions closed = dynamic(plain, all[turn++ % all.size()]), options = any ? any_keys(closed) : closed;
        const Case config{.movement = {.transfer = transfer.value},
                          .groups = {1 + static_cast<std::int64_t>(turn) % 3}};
        EXPECT_EQ(0, wrong_values(comm, options, plan_of(planner, options, comm.size()), config))
            << planner << " " << config.name() << " " << text_of(options.workload.tables[0].dynamic.admission);
      }
  }
  const RunOptions maxima = any_keys(dynamic(small_case(Pooling::max, OptimizerKind::lamb, false), all[3]));
  for (const placement::Dedup dedup : {placement::Dedup::local, placement::Dedup::local_owner})
    EXPECT_EQ(0, wrong_values(comm, maxima, plan_of("row_wise", maxima, comm.size()),
                              {.movement = {.transfer = placement::RowTransfer::unique_rows, .dedup = dedup}}))
        << name_of(dedup);
}

/// The reference decides for all of them, so that keys, values, uses and victims are equal.
TEST(DynamicTables, RowsLeaveByEveryRuleAlikeOnAnyRanksAndInEveryPlan) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (int ranks = 1; ranks <= world.size(); ++ranks) {
    MPI_Comm some = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world.rank() < ranks ? 0 : MPI_UNDEFINED, world.rank(), &some);
    if (some == MPI_COMM_NULL) continue;
    {
      const comm::Communicator comm(some);
      for (const DynamicRules& of_case :
           {rules("counter:2", "idle:3"), rules("all", "lru", 3 * key_buckets),
            rules("counter:2", "lfu", 2 * key_buckets), rules("all", "idle:20", 3 * key_buckets),
            rules("all", "l2:0.05", 3 * key_buckets)}) {
        const bool any = of_case.eviction.capacity != 2 * key_buckets;  // a step has three such keys in one bucket
        const RunOptions options = any ? any_keys(many_rows(of_case)) : many_rows(of_case);
        for (const char* planner : {"table_wise", "row_wise", "row_wise_block"}) {
          if (ranks < world.size() && std::string_view(planner) != (ranks == 1 ? "table_wise" : "row_wise")) continue;
          EXPECT_EQ(0, wrong_values(comm, options, plan_of(planner, options, ranks), {}))
              << ranks << " ranks, " << planner << " " << text_of(of_case.admission) << " "
              << text_of(of_case.eviction);
        }
      }
    }
    MPI_Comm_free(&some);
  }
}

// HugeCTR removes the rows that it evicts, and not their optimizer state.
TEST(DynamicTables, KeepNoStateOfEvictedRows) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  RunOptions options = many_rows(rules("all", "idle:1"));
  options.workload.tables.front().rows = 2'000;
  for (const OptimizerKind kind : {OptimizerKind::rowwise_adagrad, OptimizerKind::adam}) {
    options.workload.tables.front().optimizer = {.kind = kind, .learning_rate = 0.125F, .initial_accumulator = 0.5F};
    EXPECT_EQ(0, wrong_values(comm, options, plan_of("row_wise", options, comm.size()), {})) << name_of(kind);
  }
}

// TorchRec's ZCH looked keys up without the boundaries of features. Here all features name the same few keys.
TEST(DynamicTables, LoseNoBoundaryBetweenFeatures) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  RunOptions options = dynamic(one_small_table(), rules("all"));
  options.workload.tables.resize(3, options.workload.tables.front());
  options.workload.features.resize(4, options.workload.features.front());
  for (std::int64_t f = 0; f < 4; ++f) options.workload.features[f].name += std::to_string(f);
  for (std::int64_t t = 0; t < 3; ++t) {
    options.workload.tables[t].name += std::to_string(t);
    options.workload.tables[t].rows = 9;
    options.workload.features[t].table = t;
  }
  for (const RunOptions& each : {options, any_keys(options)})
    for (const char* planner : {"table_wise", "row_wise", "column_wise"})
      for (const placement::RowTransfer transfer :
           {placement::RowTransfer::dense_partials, placement::RowTransfer::unique_rows})
        EXPECT_EQ(0,
                  wrong_values(comm, each, plan_of(planner, each, comm.size()), {.movement = {.transfer = transfer}}))
            << planner << " " << name_of(transfer);
}

/// Types that are rounded, at random too, and all dims.
TEST(DynamicTables, EveryValueTypeIsRight) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const auto& type : value_types)
    for (const bool at_random : {false, true}) {
      const OptimizerKind kind = type.value == ValueType::int8 ? OptimizerKind::none : OptimizerKind::adam;
      RunOptions options = dynamic(small_case(Pooling::sum, kind, false, type.value), rules("counter:2", "idle:1"));
      for (Table& table : options.workload.tables) table.stochastic_rounding = at_random;
      EXPECT_EQ(0, wrong_values(comm, options, plan_of("row_wise", options, comm.size()), {})) << type.name;
    }
}

/// Faults in keys, uses and rows are found.
TEST(DynamicTables, TheCheckSeesWhatIsWrong) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const Fault fault : {Fault::lookup, Fault::update, Fault::exchange}) {
    RunOptions options = dynamic(small_case(Pooling::sum, OptimizerKind::sgd, true), rules("all"));
    options.fault = fault;
    EXPECT_NE(0, wrong_values(comm, options, plan_of("row_wise", options, comm.size()), {})) << name_of(fault);
  }
  RunOptions options = dynamic(small_case(Pooling::sum, OptimizerKind::adagrad, false), rules("all"));
  options.fault = Fault::state;
  EXPECT_NE(0, wrong_values(comm, options, plan_of("row_wise", options, comm.size()), {}));
}

TEST(DynamicTables, HoldAndReportTheRowsThatTheyHaveSeen) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = any_keys(many_rows(rules("counter:2", "idle:3")));
  const auto& [described, features] = std::tie(options.workload.tables, options.workload.features);
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const auto inputs = inputs_of(comm, options, *batches);
  std::vector<std::vector<std::int64_t>> reports;
  for (const char* planner : {"table_wise", "row_wise"}) {
    const placement::Plan plan = plan_of(planner, options, comm.size());
    ShardedTables tables(plan, described, features, comm.rank());
    tables.fill(options.row_values());
    const auto ready = ready_case(comm, tables, plan, {}, inputs.front());
    for (const StepInput& input : inputs) training_step(ready->flight, input);
    std::vector<std::int64_t> numbers(dynamic_numbers.size());
    tables.report(Storage::dynamic, numbers);
    comm::all_reduce(comm, std::span(numbers), comm::Reduce::sum);
    const auto of = [&](DynamicNumber number) { return numbers[index_of(number)]; };
    EXPECT_GT(of(DynamicNumber::rows), 0);
    EXPECT_EQ(of(DynamicNumber::rows), of(DynamicNumber::admitted) - of(DynamicNumber::evicted));
    EXPECT_GT(of(DynamicNumber::evicted), 0);
    EXPECT_LT(of(DynamicNumber::rows), 20'000 / 4);
    reports.push_back({of(DynamicNumber::rows), of(DynamicNumber::found), of(DynamicNumber::admitted),
                       of(DynamicNumber::absent), of(DynamicNumber::evicted), of(DynamicNumber::keys)});
    tables.fill(options.row_values());  // forgets all
    std::fill(numbers.begin(), numbers.end(), 0);
    tables.report(Storage::dynamic, numbers);
    EXPECT_EQ(of(DynamicNumber::rows) + of(DynamicNumber::admitted), 0);
    EXPECT_EQ(of(DynamicNumber::keys), 0);
  }
  EXPECT_EQ(reports[0], reports[1]);
}

TEST(DynamicTables, ACapacityHoldsWhatAStepNames) {
  Table table{.name = "t", .rows = 20'000, .dim = 4, .storage = Storage::dynamic};
  table.dynamic = rules("all", "lru", key_buckets);
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < table.rows && std::ssize(rows) < 3; ++row)
    if (KeyBuckets::of_table(5).bucket(row) == 7) rows.push_back(row);
  ASSERT_EQ(rows.size(), 3U);
  constexpr std::int64_t least = 2 * key_buckets + 8;  // a third row for the buckets up to number 7
  try {
    require_capacity(table, 5, rows);
    ADD_FAILURE() << "a row a bucket is too few";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(fmt::format("capacity={} or more", least)), std::string::npos)
        << error.what();
  }
  table.dynamic.eviction.capacity = least;
  require_capacity(table, 5, rows);
  table.dynamic.eviction.capacity = least - 1;
  EXPECT_THROW(require_capacity(table, 5, rows), InputError);
}

}  // namespace
}  // namespace shardmark::workloads
