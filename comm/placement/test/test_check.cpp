// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "comm/placement/plan_check.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/test/random_tables.hpp"

namespace shardmark::placement {
namespace {

/// Counts the owners of every cell, one by one; all ranks together own a hot one.
bool sound_by_counting(const Plan& plan, const std::vector<Table>& tables) {
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const TablePlacement& placement = plan.tables[t];
    if (placement.data_parallel) {
      if (!placement.shards.empty() || placement.hot_rows != 0) return false;
      continue;
    }
    const std::int64_t rows = tables[t].rows, dim = tables[t].dim;
    const std::int64_t hot = placement.hot_rows;
    std::vector<int> owners(static_cast<std::size_t>(rows * dim));
    if (hot < 0 || hot >= rows) return false;
    std::fill_n(owners.begin(), hot * dim, 1);
    for (const Shard& shard : placement.shards) {
      if (shard.rank < 0 || shard.rank >= plan.ranks || shard.rows.count() == 0 || shard.columns() <= 0) return false;
      if (shard.rows.begin < 0 || shard.rows.end > rows || shard.column_begin < 0 || shard.column_end > dim)
        return false;
      if (hot > 0 && shard.columns() < dim) return false;
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = shard.column_begin; column < shard.column_end; ++column)
          owners[row * dim + column] += shard.rows.contains(row) ? 1 : 0;
    }
    if (std::ranges::any_of(owners, [](int n) { return n != 1; })) return false;
  }
  return true;
}

/// One table of 12 rows and 6 columns called T0 on 3 ranks.
std::vector<std::string> problems_of(std::vector<Shard> shards) {
  const std::vector<Table> tables{{"T0", 12, 6, {}}};
  return check({"hand", 3, {{false, std::move(shards)}}}, tables);
}

void expect_problem(std::vector<Shard> shards, const std::string& expected) {
  const auto problems = problems_of(std::move(shards));
  ASSERT_EQ(problems.size(), 1U) << expected;
  EXPECT_EQ(problems[0], expected);
}

TEST(Check, accepts_what_covers_every_cell_once) {
  EXPECT_TRUE(problems_of({{{0, 12, 1}, 0, 6, 2}}).empty());
  EXPECT_TRUE(problems_of({{{0, 12, 2}, 0, 6, 0}, {{1, 12, 2}, 0, 6, 1}}).empty());
  // even rows on rank 0; odd rows split modulo 4, one of the halves in blocks
  EXPECT_TRUE(
      problems_of({{{0, 12, 2}, 0, 6, 0}, {{1, 12, 4}, 0, 6, 1}, {{3, 7, 4}, 0, 6, 2}, {{7, 12, 4}, 0, 6, 0}}).empty());
  // an uneven grid: columns 0-2 in two blocks, columns 2-6 modulo 3
  EXPECT_TRUE(problems_of({{{0, 5, 1}, 0, 2, 0},
                           {{5, 12, 1}, 0, 2, 1},
                           {{0, 12, 3}, 2, 6, 0},
                           {{1, 12, 3}, 2, 6, 1},
                           {{2, 12, 3}, 2, 6, 2}})
                  .empty());
}

TEST(Check, names_the_row_that_is_missed_or_doubled) {
  expect_problem({}, "table 'T0', columns 0 to 6: row 0 is on no rank");
  expect_problem({{{0, 5, 1}, 0, 6, 0}, {{6, 12, 1}, 0, 6, 1}}, "table 'T0', columns 0 to 6: row 5 is on no rank");
  expect_problem({{{0, 12, 3}, 0, 6, 0}, {{1, 12, 3}, 0, 6, 1}}, "table 'T0', columns 0 to 6: row 2 is on no rank");
  expect_problem({{{0, 7, 1}, 0, 6, 0}, {{6, 12, 1}, 0, 6, 1}},
                 "table 'T0', columns 0 to 6: row 6 is on rank 0 and again on rank 1");
  expect_problem({{{0, 12, 1}, 0, 4, 0}, {{0, 12, 1}, 3, 6, 1}},
                 "table 'T0', columns 3 to 4: row 0 is on rank 0 and again on rank 1");
  expect_problem({{{0, 12, 1}, 0, 4, 0}, {{0, 12, 1}, 5, 6, 1}}, "table 'T0', columns 4 to 5: row 0 is on no rank");
}

TEST(Check, hot_rows_are_on_every_rank_and_the_others_on_one) {
  const std::vector<Table> tables{{"T0", 12, 6, {}}};
  const auto problem = [&](std::int64_t hot_rows, std::vector<Shard> shards) -> std::string {
    const auto problems = check({"hand", 3, {{shards.empty(), std::move(shards), hot_rows}}}, tables);
    EXPECT_LE(problems.size(), 1U);
    return problems.empty() ? "" : problems[0];
  };
  EXPECT_EQ(problem(4, {{{4, 12, 1}, 0, 6, 1}}), "");
  EXPECT_EQ(problem(11, {{{11, 12, 1}, 0, 6, 2}}), "");
  EXPECT_EQ(problem(3, {{{3, 12, 2}, 0, 6, 0}, {{4, 12, 2}, 0, 6, 0}}), "");
  EXPECT_EQ(problem(4, {{{5, 12, 1}, 0, 6, 1}}), "table 'T0', columns 0 to 6: row 4 is on no rank");
  EXPECT_EQ(problem(4, {{{4, 12, 2}, 0, 6, 1}}), "table 'T0', columns 0 to 6: row 5 is on no rank");
  EXPECT_EQ(problem(4, {{{3, 12, 1}, 0, 6, 1}}), "table 'T0': row 3 is hot, so on every rank, and again on rank 1");
  EXPECT_EQ(problem(4, {{{4, 12, 1}, 0, 6, 1}, {{7, 9, 1}, 0, 6, 0}}),
            "table 'T0', columns 0 to 6: row 7 is on rank 1 and again on rank 0");
  EXPECT_EQ(problem(4, {{{4, 12, 1}, 0, 3, 1}, {{4, 12, 1}, 3, 6, 0}}),
            "table 'T0': it has hot rows, but rank 1 holds its columns 0 to 3 only; split it by rows");
  for (const std::int64_t rows : {-1, 12, 13})
    EXPECT_NE(problem(rows, {{{4, 12, 1}, 0, 6, 1}}).find("they must be fewer than its 12 rows"), std::string::npos);
  EXPECT_EQ(problem(4, {}), "table 'T0': a data_parallel table has no hot rows; leave hot_rows 4 out");
}

TEST(Check, finds_strides_that_meet_although_counts_add_up) {
  // 4 + 3 + 5 = 12 rows, but 6 = 0 (mod 3) = 1 (mod 5)
  expect_problem({{{0, 12, 3}, 0, 6, 0}, {{1, 12, 5}, 0, 6, 1}, {{2, 7, 1}, 0, 6, 2}},
                 "table 'T0', columns 0 to 6: row 3 is on rank 2 and again on rank 0");
}

TEST(Check, refuses_shards_outside_the_table_or_the_job) {
  expect_problem({{{0, 12, 1}, 0, 6, 3}}, "table 'T0', rank 3: the ranks of this plan are 0 to 2");
  expect_problem({{{0, 12, 1}, 0, 6, -1}}, "table 'T0', rank -1: the ranks of this plan are 0 to 2");
  expect_problem({{{0, 13, 1}, 0, 6, 0}}, "table 'T0', rank 0: its rows 0 to 13 leave the table of 12 rows");
  expect_problem({{{-1, 12, 1}, 0, 6, 0}}, "table 'T0', rank 0: its rows -1 to 12 leave the table of 12 rows");
  expect_problem({{{0, 12, 1}, 0, 7, 0}}, "table 'T0', rank 0: its columns 0 to 7 leave the table of 6 columns");
  expect_problem({{{0, 12, 0}, 0, 6, 0}}, "table 'T0', rank 0: the stride of its rows is 0; it must be at least 1");
  expect_problem({{{0, 12, 1}, 0, 6, 0}, {{12, 12, 1}, 0, 6, 1}},
                 "table 'T0', rank 1: its rows 12 to 12, columns 0 to 6 are empty; leave the shard out");
  expect_problem({{{0, 12, 1}, 0, 6, 0}, {{0, 12, 1}, 6, 6, 1}},
                 "table 'T0', rank 1: its rows 0 to 12, columns 6 to 6 are empty; leave the shard out");
}

TEST(Check, refuses_plans_of_other_workloads) {
  const std::vector<Table> tables{{"T0", 12, 6, {}}, {"T1", 12, 6, {}}};
  const Plan one_table{"p", 1, {{true, {}}}};
  EXPECT_EQ(check(one_table, tables).size(), 1U);
  const Plan replicated_and_sharded{"p", 1, {{true, {}}, {true, {{{0, 12, 1}, 0, 6, 0}}}}};
  ASSERT_EQ(check(replicated_and_sharded, tables).size(), 1U);
  EXPECT_EQ(check(replicated_and_sharded, tables)[0], "table 'T1', rank 0: a data_parallel table has no shards");
  for (const int ranks : {-1, 0, largest_job + 1})
    EXPECT_EQ(check({"p", ranks, {{true, {}}, {true, {}}}}, tables).size(), 1U) << ranks;
}

TEST(Check, require_sound_throws_one_line) {
  const std::vector<Table> tables{{"T0", 12, 6, {}}, {"T1", 12, 6, {}}};
  const Plan plan{"p", 1, {{false, {}}, {false, {}}}};
  try {
    require_sound(plan, tables, "plan.json");
    FAIL() << "did not throw";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "plan.json: table 'T0', columns 0 to 6: row 0 is on no rank (and 1 more)");
  }
}

TEST(Check, common_row_agrees_with_counting) {
  std::mt19937 random(7);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  for (int round = 0; round < 20000; ++round) {
    const RowSet a{draw(0, 30), draw(0, 60), draw(1, 15)};
    const RowSet b{draw(0, 30), draw(0, 60), draw(1, 15)};
    std::optional<std::int64_t> expected;
    for (std::int64_t row = 59; row >= 0; --row)
      if (a.contains(row) && b.contains(row)) expected = row;
    EXPECT_EQ(first_common_row(a, b), expected) << round;
  }
}

TEST(Check, common_row_of_huge_tables_does_not_overflow) {
  constexpr std::int64_t rows = 8'000'000'000'000'000'000;
  constexpr std::int64_t p = 4'000'000'007, q = 4'000'000'009;  // coprime
  EXPECT_EQ(first_common_row({0, rows, p}, {0, rows, q}), 0);
  EXPECT_EQ(first_common_row({p, rows, p}, {q, rows, q}), std::nullopt);  // p q > rows
  EXPECT_EQ(first_common_row({3, rows, p}, {3 + q, rows, q}), std::nullopt);
  EXPECT_EQ(first_common_row({5, rows, 1'000'003}, {5 + 1'000'003LL * 999'983, rows, 999'983}),
            5 + 1'000'003LL * 999'983);
}

/// Drops, doubles, shifts, resizes or moves one shard.
void damage(Plan& plan, std::mt19937& random) {
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  TablePlacement& placement = plan.tables[draw(0, static_cast<int>(plan.tables.size()) - 1)];
  if (placement.shards.empty()) return;
  const int chosen = draw(0, static_cast<int>(placement.shards.size()) - 1);
  Shard& shard = placement.shards[chosen];
  switch (draw(0, 8)) {
    case 0:
      placement.shards.erase(placement.shards.begin() + chosen);
      break;
    case 1:
      placement.shards.push_back(Shard(shard));
      break;
    case 2:
      shard.rows.begin += draw(0, 1) * 2 - 1;
      break;
    case 3:
      shard.rows.end += draw(0, 1) * 2 - 1;
      break;
    case 4:  // a stride of 0, which sound_by_counting would divide by, has a test of its own
      shard.rows.stride = std::max<std::int64_t>(1, shard.rows.stride + draw(0, 1) * 2 - 1);
      break;
    case 5:
      shard.column_begin += draw(0, 1) * 2 - 1;
      break;
    case 6:
      shard.column_end += draw(0, 1) * 2 - 1;
      break;
    case 7:
      placement.hot_rows += draw(0, 1) * 2 - 1;
      break;
    default:
      shard.rank += plan.ranks;
      break;
  }
}

TEST(Check, agrees_with_counting_on_damaged_plans) {
  std::int64_t unsound = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const RandomTables workload(random);
    const Planner& planner = planners[seed % planners.size()];
    Plan plan = make_plan(planner.name, workload.tables, workload.features,
                          {.ranks = static_cast<int>(seed % 9) + 1, .replicate_rows = 10});
    ASSERT_TRUE(sound_by_counting(plan, workload.tables));
    damage(plan, random);
    const bool sound = sound_by_counting(plan, workload.tables);
    unsound += sound ? 0 : 1;
    EXPECT_EQ(check(plan, workload.tables).empty(), sound);
  }
  EXPECT_GT(unsound, 500);
}

TEST(Check, agrees_with_counting_on_random_row_sets) {
  std::int64_t sound_plans = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const auto draw = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution(low, high)(random);
    };
    const std::vector<Table> tables{{"T0", 12, 2, {}}};
    // Splits a random shard of a sound plan: by rows, by remainder or by columns. Sometimes damages it afterwards.
    Plan plan{"random", 4, {{false, {whole(tables[0], 0)}}}};
    auto& shards = plan.tables[0].shards;
    for (int split = 0; split < 5; ++split) {
      auto& shard = shards[draw(0, std::ssize(shards) - 1)];
      Shard rest = shard;
      rest.rank = static_cast<int>(draw(0, 3));
      const RowSet rows = shard.rows;
      const std::int64_t n = rows.count();
      const auto kind = draw(0, 2);
      if (kind == 0 && n > 1) {
        const std::int64_t cut = rows.global(draw(1, n - 1));
        shard.rows.end = cut;
        rest.rows.begin = cut;
      } else if (kind == 1 && n > 1) {
        shard.rows.stride = rows.stride * 2;
        rest.rows = {rows.begin + rows.stride, rows.end, rows.stride * 2};
      } else if (kind == 2 && shard.columns() > 1) {
        shard.column_end = rest.column_begin = 1;
      } else {
        continue;
      }
      shards.push_back(rest);
    }
    EXPECT_TRUE(check(plan, tables).empty());
    if (seed % 2 == 0) damage(plan, random);
    const bool sound = sound_by_counting(plan, tables);
    sound_plans += sound ? 1 : 0;
    EXPECT_EQ(check(plan, tables).empty(), sound);
  }
  EXPECT_GT(sound_plans, 2000);
  EXPECT_LT(sound_plans, 3000);
}

TEST(Check, is_quick_enough_for_a_thousand_ranks) {
  std::vector<Table> tables;
  for (std::int64_t t = 0; t < 26; ++t)
    tables.push_back({fmt::format("T{}", t), t < 5 ? t + 1 : 1'000'000'007 + t, 1024, {}});
  for (const Planner& planner : planners)
    EXPECT_TRUE(check(make_plan(planner.name, tables, {}, {.ranks = 1000}), tables).empty()) << planner.name;
}

}  // namespace
}  // namespace shardmark::placement
