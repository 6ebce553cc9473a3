// SPDX-License-Identifier: Apache-2.0
// How many batches the steps rotate through, and what their rows take.
#include <gtest/gtest.h>

#include "comm/collectives.hpp"
#include "reference/counter_random.hpp"
#include "workloads/measure/test/small_case.hpp"
#include "workloads/measure/timed_batches.hpp"

namespace shardmark::workloads {
namespace {

TEST(DistinctCount, IsThatOfAllRanksWithinAFewPercent) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const std::int64_t distinct : {0, 1, 10, 1000, 30000, 1000000})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      DistinctCount count;
      // Every rank adds two thirds of them, its own first, each twice.
      for (int twice = 0; twice < 2; ++twice)
        for (std::int64_t i = 0; i < distinct; ++i)
          if ((i + comm.rank()) % 3 != 0 || comm.size() == 1) count.add(random_bits(seed, i));
      std::int64_t added = 0;
      for (std::int64_t i = 0; i < distinct; ++i) {
        bool any = comm.size() == 1;
        for (int r = 0; r < comm.size(); ++r) any = any || (i + r) % 3 != 0;
        added += any;
      }
      const auto expected = static_cast<double>(added);
      EXPECT_NEAR(count.estimate(comm), expected, 0.06 * expected) << distinct << " with seed " << seed;
    }
}

TEST(RowFootprint, EachRowCountsOnceWithItsState) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  Workload workload;
  workload.tables = {{.name = "a", .rows = 100, .dim = 8, .optimizer = {.kind = OptimizerKind::sgd}},
                     {.name = "b", .rows = 100, .dim = 16, .optimizer = {.kind = OptimizerKind::adagrad}}};
  workload.features = {{.name = "x", .table = 0}, {.name = "y", .table = 1}, {.name = "z", .table = 0}};
  RowFootprint rows(workload);
  const Batch batch{
      .samples = 1, .features = 3, .offsets = {0, 3, 5, 7}, .indices = {1, 2, 1, 7, 8, 2, 3}, .weights = {}};
  rows.add(batch);
  rows.add(batch);
  EXPECT_NEAR(rows.bytes(comm), 3 * 4 * 8 + 2 * 2 * 4 * 16, 4.0);
}

RunOptions automatic() {
  RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  options.batches = 0;
  return options;
}

TEST(TimedBatches, AreReadUntilTheirRowsLeaveTheCache) {
  const RunOptions options = automatic();
  BatchFacts facts{.count = 5, .most = 64, .row_bytes = 9e6, .table_bytes = 1e9, .cache_bytes = 1e7};
  EXPECT_EQ(reason_to_stop(options, facts), "");
  facts.row_bytes = 1.1e7;
  EXPECT_EQ(reason_to_stop(options, facts), "rows exceed the last-level cache");
  facts.count = 2;  // fewer than are checked
  EXPECT_EQ(reason_to_stop(options, facts), "");
}

TEST(TimedBatches, AreFewWhereNoNumberOfThemWouldDo) {
  RunOptions options = automatic();
  BatchFacts facts{.count = 4, .most = 64, .row_bytes = 1e6, .table_bytes = 5e6, .cache_bytes = 1e7};
  EXPECT_EQ(reason_to_stop(options, facts), "tables fit the last-level cache");
  facts.table_bytes = 1e9;
  facts.count = facts.most = 10;
  EXPECT_EQ(reason_to_stop(options, facts), "memory");
  facts.count = facts.most = 64;
  EXPECT_EQ(reason_to_stop(options, facts), "no more are made");
  options.steps = 8;
  facts.count = 8;
  EXPECT_EQ(reason_to_stop(options, facts), "no more steps are timed");
}

TEST(TimedBatches, AreAsManyAsAreAskedFor) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  RunOptions options = automatic();
  const auto source = make_batch_source(options, [](const std::string&) {});
  for (const std::int64_t wanted : {1, 3, 5}) {
    options.batches = wanted;
    const TimedBatches batches = read_batches(comm, options, *source, [](const std::string&) {});
    EXPECT_EQ(std::ssize(batches.inputs), std::max(wanted, options.checked_steps));
    EXPECT_EQ(batches.reason, "requested");
  }
  options.batches = 0;  // 5 tables of some KB
  EXPECT_EQ(std::ssize(read_batches(comm, options, *source, [](const std::string&) {}).inputs), 4);
}

TEST(TimedBatches, TakeAGigabyteAtMost) {
  RunOptions options = automatic();
  options.checked_steps = 2;
  EXPECT_EQ(most_batches(options, 0x1p30 / 10), 10);
  EXPECT_EQ(most_batches(options, 0x1p40), 2);
  EXPECT_EQ(most_batches(options, 1.0), 64);
  options.batches = 7;
  EXPECT_EQ(most_batches(options, 0x1p40), 7);
}

}  // namespace
}  // namespace shardmark::workloads
