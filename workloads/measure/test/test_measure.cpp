// SPDX-License-Identifier: Apache-2.0
// A whole measurement: rounds, what is kept of them, tables that are filled anew, signals.
#include <gtest/gtest.h>

#include <csignal>

#include "comm/collectives.hpp"
#include "workloads/measure/interruption.hpp"
#include "workloads/measure/measure.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"

namespace shardmark::workloads {
namespace {

const Status silent = [](const std::string&) {};

class Measurements : public testing::Test {
 protected:
  Measurements() {
    for (const char* planner : {"table_wise", "row_wise"})
      plans.push_back({plan_of(planner, options, comm.size()), options});
    for (const std::size_t plan : {0, 1})
      for (const char* exchange : {"mpi_alltoallv", "pairwise"})
        cases.push_back({plan, {.exchange = comm::exchange_named(exchange)}});
  }

  Measured run(const Keep& keep, const Status& status = silent) {
    for (PlannedTables& planned : plans) planned.options = options;  // as the test has set them since
    const auto batches = make_batch_source(options, [](const std::string&) {});
    return measure({comm, options, plans, cases}, *batches, status, keep);
  }

  comm::Communicator comm{MPI_COMM_WORLD};
  RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  std::vector<PlannedTables> plans;
  std::vector<PlannedCase> cases;
};

TEST_F(Measurements, EveryRoundLeavesWhatAllCasesHaveUntilThen) {
  options.steps = 13;
  std::vector<Measured> kept;
  const Measured measured = run([&](const Measured& so_far) { kept.push_back(so_far); });
  ASSERT_EQ(kept.size(), 5U);  // visits of 3 steps
  for (std::size_t round = 0; round < kept.size(); ++round) {
    ASSERT_EQ(kept[round].records.size(), cases.size());
    for (const results::CaseRecord& record : kept[round].records)
      EXPECT_EQ(record.step_ms.visit_count(), static_cast<std::int64_t>(round) + 1);
  }
  ASSERT_EQ(measured.records.size(), cases.size());
  for (const results::CaseRecord& record : measured.records) {
    EXPECT_EQ(record.step_ms.visits, (std::vector<std::int64_t>{3, 3, 3, 3, 1}));
    EXPECT_EQ(record.checked_steps, 3);
    EXPECT_EQ(record.details.at("checked_after"), 3);
    EXPECT_EQ(record.options.at("batches"), 3);
    EXPECT_EQ(record.details.at("batches_reason"), "requested");
    EXPECT_EQ(record.wrong, 0);
  }
}

/// All batches are checked afterwards, also those beyond the steps that are checked first.
TEST_F(Measurements, WhatIsTimedIsCheckedAfterwards) {
  options.steps = 6;
  options.checked_steps = 1;
  options.batches = 5;
  for (const results::CaseRecord& record : run([](const Measured&) {}).records) {
    EXPECT_EQ(record.checked_steps, 1);
    EXPECT_EQ(record.details.at("checked_after"), 5);
    EXPECT_EQ(record.wrong, 0);
  }
}

/// Cases whose storages differ have tables and a reference of their own. Of what makes them differ here the optimizer
/// stands in for a second storage, so that each is wrong by the reference of the other.
TEST_F(Measurements, CasesOfSeveralStoragesHaveTheirOwnTablesAndReference) {
  options.steps = 6;
  RunOptions others = options;
  for (Table& table : others.workload.tables) table.optimizer.kind = OptimizerKind::adagrad;
  plans = {{plan_of("row_wise", options, comm.size()), options}, {plan_of("row_wise", others, comm.size()), others}};
  cases = {{0, {}}, {1, {.storage = Storage::dense}}, {0, {.exchange = comm::exchange_named("pairwise")}}};
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const auto records = measure({comm, options, plans, cases}, *batches, silent, [](const Measured&) {}).records;
  ASSERT_EQ(records.size(), 3U);
  for (const results::CaseRecord& record : records) {
    EXPECT_EQ(record.wrong, 0) << record.option("optimizer") << record.option("exchange");
    EXPECT_EQ(record.step_ms.n, 6);
  }
  EXPECT_EQ(records[1].option("optimizer"), "adagrad");
  const auto bytes = [&](std::size_t c) { return records[c].details.at("table_bytes_max").get<std::int64_t>(); };
  EXPECT_EQ(bytes(0), bytes(2));
  EXPECT_EQ(bytes(1), 2 * bytes(0));  // a number of state per value
}

/// Tables of the two storages take each other's place, so that each visit begins with cold caches.
TEST_F(Measurements, CachesAreWarmBeforeACaseIsTimed) {
  RunOptions dense = one_small_table();
  dense.exact = false;
  dense.steps = 12;
  RunOptions tts = with_storage(dense, Storage::tt);
  tts.workload.tables[0].tensor_train = {.cores = 2, .ranks = {2}, .cache = {.rows = 12, .populate_every = 5}};
  plans = {{plan_of("table_wise", dense, comm.size()), dense}, {plan_of("table_wise", tts, comm.size()), tts}};
  cases = {{0, {.storage = Storage::dense}}, {1, {.storage = Storage::tt}}};
  const auto batches = make_batch_source(dense, [](const std::string&) {});
  const auto records = measure({comm, dense, plans, cases}, *batches, silent, [](const Measured&) {}).records;
  ASSERT_EQ(records.size(), 2U);
  EXPECT_GT(records[1].step_ms.visit_count(), 3);
  EXPECT_EQ(records[1].wrong, 0);
  EXPECT_FALSE(records[0].details.contains("tensor_train"));
  const auto& cache = records[1].details.at("tensor_train").at("cache");
  EXPECT_EQ(cache.at("misses"), 0) << cache;
  EXPECT_EQ(cache.at("hits"), 12 * 37 * 40) << cache;
}

TEST_F(Measurements, ASignalOnOneRankEndsThemAll) {
  options.steps = 600;
  const Measured measured = run([&](const Measured& so_far) {
    if (so_far.rounds == 2 && comm.rank() == comm.size() - 1) std::raise(SIGUSR1);
  });
  EXPECT_EQ(measured.signal, SIGUSR1);
  EXPECT_EQ(measured.rounds, 2);
  ASSERT_EQ(measured.records.size(), cases.size());
  for (const results::CaseRecord& record : measured.records) {
    EXPECT_GE(record.step_ms.n, 200);
    EXPECT_LE(record.step_ms.n, 300);
    EXPECT_FALSE(record.details.contains("checked_after"));
  }
}

TEST_F(Measurements, ASignalBeforeTheFirstVisitLeavesNothing) {
  const Measured measured = run([](const Measured&) {},
                                [&](const std::string& text) {
                                  if (text.starts_with("computing") && comm.rank() == 0) std::raise(SIGTERM);
                                });
  EXPECT_EQ(measured.signal, SIGTERM);
  EXPECT_TRUE(measured.records.empty());
}

/// Time for one case alone: the first, as there are no predictions, and its twin.
TEST_F(Measurements, ABudgetThatHoldsNoRoundGivesTheMostPromisingCase) {
  options.budget = Seconds(1e-9);
  std::int64_t kept = 0;
  const Measured measured = run([&](const Measured&) { ++kept; });
  EXPECT_EQ(kept, 1);
  ASSERT_EQ(measured.records.size(), 1U);
  const results::CaseRecord& record = measured.records.front();
  EXPECT_EQ(record.plan, "table_wise");
  EXPECT_EQ(record.option("exchange"), "mpi_alltoallv");
  EXPECT_EQ(record.step_ms.visit_count(), 1);
  EXPECT_EQ(record.wrong, 0);
  EXPECT_EQ(record.checked_steps, options.checked_steps);
  EXPECT_EQ(record.details.at("checked_after"), options.checked_steps);
  EXPECT_EQ(measured.left_out, (std::vector<std::string>{"table_wise auto pairwise", "row_wise auto mpi_alltoallv",
                                                         "row_wise auto pairwise"}));
}

/// One case of several is measured twice, as two, and not listed twice.
TEST_F(Measurements, HoldACaseTwice) {
  options.steps = 13;
  const Measured measured = run([](const Measured&) {});
  ASSERT_EQ(measured.records.size(), cases.size());
  for (std::size_t c = 0; c < cases.size(); ++c) EXPECT_EQ(measured.records[c].details.contains("twin"), c == 0) << c;
  const auto& twin = measured.records.front().details.at("twin");
  EXPECT_EQ(twin.at("samples").size(), 13U);
  EXPECT_EQ(twin.at("visits"), measured.records.front().step_ms.visits);
  EXPECT_EQ(twin.at("first_round"), 0);
  cases = {cases.front()};
  EXPECT_FALSE(run([](const Measured&) {}).records.front().details.contains("twin"));
}

TEST_F(Measurements, SayWhatElseTheProcessorsDid) {
  options.steps = 13;
  for (const results::CaseRecord& record : run([](const Measured&) {}).records) {
    const auto& conditions = record.details.at("conditions");
    for (const char* each : {"seconds", "switches", "others_cpu_seconds", "stolen_seconds", "runnable", "barrier_us"})
      EXPECT_EQ(std::ssize(conditions.at(each)), record.step_ms.visit_count()) << each;
  }
}

/// Of 64 batches six were timed.
TEST_F(Measurements, OnlyTimedBatchesAreChecked) {
  options.steps = 6;
  options.checked_steps = 1;
  options.batches = 64;
  for (const results::CaseRecord& record : run([](const Measured&) {}).records) {
    EXPECT_EQ(record.details.at("timed_batches"), 6);
    EXPECT_EQ(record.details.at("checked_after"), 6);
    EXPECT_EQ(record.wrong, 0);
  }
}

/// The tables of a plan that was not held lately are as at the beginning, whatever was done to them.
TEST_F(Measurements, TablesThatWereGoneAreFilledAnew) {
  const auto source = make_batch_source(options, [](const std::string&) {});
  const Job job{comm, options, plans, cases};
  Prepared prepared(job, *source, silent);
  const auto changed = [&] {
    std::int64_t rows = 0;
    const ShardedTables& tables = prepared.tables();
    for (std::int64_t s = 0; s < std::ssize(tables.layout().shards); ++s)
      rows += tables.store_of(s).changed_rows(s, 0, options.row_values());
    return comm::all_reduce(comm, rows, comm::Reduce::sum);
  };
  for (int turn = 0; turn < 2; ++turn)
    for (const std::size_t plan : {0, 1}) {
      EXPECT_TRUE(prepared.hold(plan));
      prepared.tables().fill(options.row_values());
      EXPECT_EQ(changed(), 0);
      training_step(prepared.ready(2 * plan).flight, prepared.inputs().front());
      EXPECT_GT(changed(), 0);
      EXPECT_FALSE(prepared.hold(plan));
    }
}

}  // namespace
}  // namespace shardmark::workloads
