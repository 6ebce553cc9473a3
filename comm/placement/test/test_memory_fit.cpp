// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <numeric>
#include <random>

#include "comm/placement/idle_ranks.hpp"
#include "comm/placement/memory_fit.hpp"
#include "comm/placement/test/random_plan.hpp"
#include "comm/placement/test/random_tables.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

/// 4 kB, 40 kB and 400 kB.
const std::vector<Table> three_tables{{.name = "small", .rows = 100, .dim = 10},
                                      {.name = "middle", .rows = 1000, .dim = 10},
                                      {.name = "large", .rows = 10'000, .dim = 10}};

TablePlacement on(std::size_t table, int rank) { return {.shards = {whole(three_tables[table], rank)}}; }

std::string only_problem(const Plan& plan, double available) {
  const auto problems = memory_problems(plan, three_tables, available);
  EXPECT_EQ(problems.size(), 1U);
  return problems.empty() ? "" : problems.front();
}

TEST(MemoryFit, NamesTheLargestTableThatCouldMove) {
  const Plan plan{.name = "p", .ranks = 3, .tables = {on(0, 1), on(1, 1), on(2, 1)}};
  EXPECT_EQ(
      only_problem(plan, 420'000),
      "rank 1 needs 0.444 MB of memory, 24000 bytes more than it has; its largest table that could move is large, "
      "0.4 MB, to rank 0, which has 0.42 MB left");
  EXPECT_EQ(only_problem(plan, 100'000),
            "rank 1 needs 0.444 MB of memory, 0.344 MB more than it has; its largest table that could move is middle, "
            "40000 bytes, to rank 0, which has 0.1 MB left");
  EXPECT_TRUE(memory_problems(plan, three_tables, 444'000).empty());
}

TEST(MemoryFit, CountsValuesAsTheTableKeepsThem) {
  Table table{.name = "t", .rows = 1000, .dim = 64, .optimizer = {.kind = OptimizerKind::adagrad}};
  const auto load = [&] { return load_of(whole(table, 0), table); };
  const std::int64_t state = 1000 * 64 * 4;
  for (const auto& [type, bytes] :
       {std::pair(ValueType::fp32, 256), {ValueType::fp16, 128}, {ValueType::bf16, 128}, {ValueType::int8, 72}}) {
    table.value_type = type;
    EXPECT_EQ(load().table_bytes, 1000 * bytes) << name_of(type);
    EXPECT_EQ(load().state_bytes, state) << name_of(type);
    EXPECT_EQ(stored_bytes(table, 1000, 64), static_cast<double>(load().bytes())) << name_of(type);
  }
  table.value_type = ValueType::fp16;
  const Plan plan{.name = "p", .ranks = 1, .tables = {{.shards = {whole(table, 0)}}}};
  EXPECT_NO_THROW(require_fit(plan, std::array{table}, 1000 * 128 + state));
  EXPECT_THROW(require_fit(plan, std::array{table}, 1000 * 128 + state - 1), InputError);
}

TEST(MemoryFit, TablesBeyondSixtyFourBitsAreRefusedByName) {
  const Table table{.name = "vast", .rows = std::int64_t{1} << 60, .dim = 16};
  const auto message = [&](const auto& action) -> std::string {
    try {
      action();
    } catch (const InputError& error) {
      return error.what();
    }
    return "counted";
  };
  EXPECT_EQ(message([&] { load_of(whole(table, 0), table); }).find("table vast: 1152921504606846976 rows of 64 bytes"),
            0u);
  RankLoad load{.table_bytes = std::int64_t{1} << 62};
  EXPECT_NE(message([&] { load += load; }), "counted");
}

TEST(MemoryFit, SaysThatATableMustBeSplit) {
  const Plan plan{.name = "p", .ranks = 2, .tables = {on(0, 1), on(1, 1), on(2, 0)}};
  EXPECT_EQ(only_problem(plan, 50'000),
            "rank 0 needs 0.4 MB of memory, 0.35 MB more than it has; no other rank has room for a table of it; split "
            "its largest, large, 0.4 MB, or use more ranks");
}

TEST(MemoryFit, NamesTheLargestCopy) {
  const Plan plan{.name = "p", .ranks = 2, .tables = {on(0, 0), on(1, 1), {.data_parallel = true, .shards = {}}}};
  const auto problems = memory_problems(plan, three_tables, 300'000);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(
      problems[1],
      "rank 1 needs 0.44 MB of memory, 0.14 MB more than it has; of the tables that every rank has a copy of, the "
      "largest is large, 0.4 MB");
  try {
    require_fit(plan, three_tables, 300'000);
    FAIL() << "fits";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "plan p: rank 0 needs 0.404 MB of memory, 0.104 MB more than it has; of the tables that "
                 "every rank has a copy of, the largest is large, 0.4 MB (and 1 more rank of it)");
  }
  EXPECT_NO_THROW(require_fit(plan, three_tables, 440'000));
}

TEST(MemoryFit, OfWhatIsNotTables) {
  const Plan plan{.name = "p", .ranks = 2, .tables = {on(0, 0), on(1, 0), on(2, 0)}};
  const std::vector<double> needed{0.5e6, 2e9};
  const auto problems = memory_problems(plan, three_tables, needed, 1e9);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0],
            "rank 1 needs 2 GB of memory, 1 GB more than it has; it is not the tables that take them: it "
            "holds none");
}

TEST(MemoryFit, CountsMoreBytesThan64Bits) {
  const std::vector<Table> huge{{.name = "huge", .rows = 1'000'000'000'000'000'000, .dim = 128}};
  const Plan plan{.name = "p", .ranks = 1, .tables = {{.shards = {whole(huge[0], 0)}}}};
  EXPECT_EQ(memory_problems(plan, huge, 1e9).size(), 1U);
}

/// Of random plans exactly the ranks whose loads exceed the memory are named.
TEST(MemoryFit, AgreesWithTheLoads) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 draws(seed);
  std::mt19937_64 random(seed);
  for (int time = 0; time < 200; ++time) {
    const RandomTables some(draws);
    const Plan plan = random_plan(some.tables, 5, random);
    const auto loads = loads_of(plan, some.tables);
    const std::int64_t available = loads[2].bytes();
    std::vector<std::string> expected;
    for (int rank = 0; rank < plan.ranks; ++rank)
      if (loads[rank].bytes() > available) expected.push_back("rank " + std::to_string(rank) + " needs ");
    const auto problems = memory_problems(plan, some.tables, static_cast<double>(available));
    ASSERT_EQ(problems.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(problems[i].starts_with(expected[i])) << problems[i];
  }
}

TEST(IdleRanks, AreNamedByRanges) {
  Plan plan{.name = "p", .ranks = 9, .tables = {on(0, 0), on(1, 4), on(2, 4)}};
  EXPECT_EQ(idle_ranks_text(plan), "ranks 1-3,5-8 hold nothing");
  plan.ranks = 5;
  EXPECT_EQ(idle_ranks_text(plan), "ranks 1-3 hold nothing");
  plan.tables[2] = on(2, 2);
  plan.tables[1] = on(1, 1);
  plan.ranks = 4;
  EXPECT_EQ(idle_ranks_text(plan), "rank 3 holds nothing");
  plan.tables[0] = {.data_parallel = true, .shards = {}};
  EXPECT_EQ(idle_ranks_text(plan), "");
}

TEST(IdleRanks, AreThoseWithoutLoad) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 draws(seed);
  std::mt19937_64 random(seed);
  for (int time = 0; time < 100; ++time) {
    const RandomTables some(draws);
    const Plan plan = random_plan(some.tables, 12, random);
    const auto loads = loads_of(plan, some.tables);
    std::vector<int> idle;
    for (int rank = 0; rank < plan.ranks; ++rank)
      if (loads[rank].rows == 0) idle.push_back(rank);
    EXPECT_EQ(idle_ranks(plan), idle);
  }
}

}  // namespace
}  // namespace shardmark::placement
