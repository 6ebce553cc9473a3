// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "comm/placement/plan.hpp"

namespace shardmark::placement {
namespace {

TEST(RowSet, block_counts_from_its_begin) {
  constexpr RowSet block{5, 9, 1};
  EXPECT_EQ(block.count(), 4);
  EXPECT_FALSE(block.contains(4));
  EXPECT_TRUE(block.contains(5));
  EXPECT_TRUE(block.contains(8));
  EXPECT_FALSE(block.contains(9));
  EXPECT_EQ(block.local(8), 3);
  EXPECT_EQ(block.global(3), 8);
}

TEST(RowSet, modulo_shards_hold_the_published_numbers_of_rows) {
  // 1003 rows modulo 4: 251, 251, 251, 250
  EXPECT_EQ((RowSet{0, 1003, 4}).count(), 251);
  EXPECT_EQ((RowSet{2, 1003, 4}).count(), 251);
  constexpr RowSet last{3, 1003, 4};
  EXPECT_EQ(last.count(), 250);
  EXPECT_TRUE(last.contains(999));
  EXPECT_FALSE(last.contains(1000));
  EXPECT_EQ(last.local(999), 249);
  EXPECT_EQ(last.global(249), 999);
}

TEST(RowSet, empty_sets_count_zero) {
  EXPECT_EQ((RowSet{}).count(), 0);
  EXPECT_EQ((RowSet{7, 7, 1}).count(), 0);
  EXPECT_EQ((RowSet{7, 3, 2}).count(), 0);
  EXPECT_EQ((RowSet{6, 7, 1000}).count(), 1);
}

TEST(HeldRows, each_bucket_lies_with_one_shard_of_any_split) {
  for (const std::int64_t rows :
       {std::int64_t{1}, std::int64_t{3}, std::int64_t{5000}, std::int64_t{8192}, std::int64_t{1'000'000}})
    for (const std::int64_t parts : {1, 2, 3, 4})
      for (const bool modulo : {false, true}) {
        const Table table{.name = "t", .rows = rows, .dim = 4, .storage = Storage::dynamic};
        std::vector<HeldRows> shards;
        for (std::int64_t k = 0; k < parts; ++k)
          shards.emplace_back(modulo ? RowSet{k, rows, parts} : RowSet{k * rows / parts, (k + 1) * rows / parts, 1},
                              table, 6);
        std::vector<std::int64_t> keys(shards.size());
        constexpr std::int64_t drawn = 20'000;
        for (std::int64_t i = 0; i < drawn; ++i) {
          const std::int64_t key = i * rows / drawn;
          std::int64_t holders = 0;
          for (std::size_t s = 0; s < shards.size(); ++s) {
            holders += shards[s].contains(key);
            keys[s] += shards[s].contains(key);
            EXPECT_EQ(shards[s].local(key), key);
          }
          ASSERT_EQ(holders, 1) << rows << " rows, key " << key;
        }
        for (const std::int64_t of_shard : keys)
          if (rows >= 1'000'000) {
            EXPECT_NEAR(static_cast<double>(of_shard), drawn / static_cast<double>(parts), drawn / 16.0) << parts;
          }
      }
}

TEST(HeldRows, rows_of_buckets_have_room_for_all_of_their_keys) {
  for (const std::int64_t rows : {1, 7, 4096, 100'000})
    for (const std::int64_t parts : {1, 2, 3, 64}) {
      const HeldRows held({0, std::max<std::int64_t>(1, rows / parts), 1},
                          {.name = "t", .rows = rows, .dim = 4, .storage = Storage::dynamic}, 2);
      std::int64_t keys = 0;
      for (std::int64_t key = 0; key < rows; ++key) keys += held.contains(key);
      EXPECT_LE(keys, held.most_rows());
      EXPECT_LE(held.most_rows(), std::min<std::int64_t>(rows, 2 * rows / parts + 200));
    }
  EXPECT_EQ(HeldRows({2, 9, 1}).most_rows(), 7);
}

TEST(Plan, kinds_are_told_from_the_shards) {
  const auto kind = [](std::vector<Shard> shards) { return kind_of({.data_parallel = false, .shards = shards}); };
  EXPECT_EQ(kind_of({.data_parallel = true, .shards = {}}), "data_parallel");
  EXPECT_EQ(kind({{{0, 6, 1}, 0, 4, 1}}), "table_wise");
  EXPECT_EQ(kind({{{0, 6, 2}, 0, 4, 1}, {{1, 6, 2}, 0, 4, 0}}), "row_wise");
  EXPECT_EQ(kind({{{0, 3, 1}, 0, 4, 1}, {{3, 6, 1}, 0, 4, 0}}), "row_wise");
  EXPECT_EQ(kind({{{0, 6, 1}, 0, 3, 1}, {{0, 6, 1}, 3, 4, 0}}), "column_wise");
  EXPECT_EQ(kind({{{0, 3, 1}, 0, 4, 0}, {{3, 6, 1}, 0, 2, 1}, {{3, 6, 1}, 2, 4, 2}}), "grid");
}

TEST(Plan, kinds_with_hot_rows_are_those_of_the_other_rows) {
  EXPECT_EQ(kind_of({false, {{{2, 6, 1}, 0, 4, 1}}, 2}), "hot_rows+table_wise");
  EXPECT_EQ(kind_of({false, {{{2, 6, 2}, 0, 4, 1}, {{3, 6, 2}, 0, 4, 0}}, 2}), "hot_rows+row_wise");
}

TEST(Plan, hot_rows_load_every_rank) {
  const std::vector<Table> tables{{"t", 10, 4, {.kind = OptimizerKind::adagrad}}};
  const Plan plan{"hand", 3, {{false, {{{3, 10, 2}, 0, 4, 0}, {{4, 10, 2}, 0, 4, 1}}, 3}}};
  const auto loads = loads_of(plan, tables);
  const std::vector<std::int64_t> rows{3 + 4, 3 + 3, 3};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    EXPECT_EQ(loads[r].tables, 1) << r;
    EXPECT_EQ(loads[r].rows, rows[r]) << r;
    EXPECT_EQ(loads[r].bytes(), 2 * 4 * 4 * rows[r]) << r;
  }
}

TEST(Plan, tables_are_stored_as_their_placement_says) {
  const std::vector<Table> tables{{.name = "a", .rows = 1'000'000, .dim = 64, .storage = Storage::tt},
                                  {.name = "b", .rows = 1'000'000, .dim = 64}};
  Plan plan{"hand", 1, {{false, {whole(tables[0], 0)}}, {false, {whole(tables[1], 0)}}}};
  const std::int64_t tt = load_of(whole(tables[0], 0), tables[0]).bytes(), dense = 1'000'000 * 64 * 4;
  EXPECT_LT(tt, dense / 10);
  EXPECT_EQ(loads_of(plan, tables)[0].bytes(), tt + dense);
  plan.tables[1].storage = Storage::tt;
  EXPECT_EQ(loads_of(plan, tables)[0].bytes(), tt + tt);
  plan.tables[0].storage = plan.tables[1].storage = Storage::dense;
  EXPECT_EQ(loads_of(plan, tables)[0].bytes(), dense + dense);
}

TEST(Plan, loads_of_tensor_trains_are_those_of_their_cores) {
  Table table{.name = "tt", .rows = 11'000'000, .dim = 64, .storage = Storage::tt};
  const auto load_with = [&](OptimizerKind kind) {
    table.optimizer.kind = kind;
    return load_of(whole(table, 0), table);
  };
  EXPECT_EQ(load_with(OptimizerKind::sgd).rows, 11'000'000);
  EXPECT_EQ(load_with(OptimizerKind::sgd).table_bytes, 3'834'880);
  EXPECT_EQ(load_with(OptimizerKind::sgd).state_bytes, 0);
  EXPECT_EQ(load_with(OptimizerKind::adam).state_bytes, 2 * 3'834'880);
  EXPECT_EQ(load_with(OptimizerKind::rowwise_adagrad).state_bytes, 4 * (200 + 220 + 250));
  table.tensor_train.cache = {.rows = 1000};
  EXPECT_EQ(load_with(OptimizerKind::adagrad).table_bytes, 3'834'880 + 4 * 1000 * 64);
  EXPECT_EQ(load_with(OptimizerKind::adagrad).state_bytes, 3'834'880 + 4 * 1000 * 64);
  table.tensor_train.cache.writes = CacheWrites::read_only;
  EXPECT_EQ(load_with(OptimizerKind::adagrad).state_bytes, 3'834'880);
  const Plan plan{"hand", 2, {{.data_parallel = true, .shards = {}}}};
  for (const RankLoad& load : loads_of(plan, std::vector{table})) EXPECT_EQ(load.bytes(), 2 * 3'834'880 + 256'000);
}

TEST(Plan, loads_count_rows_values_and_optimizer_state) {
  const std::vector<Table> tables{
      {"replicated", 10, 4, {.kind = OptimizerKind::sgd}},
      {"columns", 100, 6, {.kind = OptimizerKind::rowwise_adagrad}},
      {"rows", 7, 2, {.kind = OptimizerKind::adagrad}},
  };
  const Plan plan{"hand",
                  3,
                  {{.data_parallel = true, .shards = {}},
                   {false, {{{0, 100, 1}, 0, 4, 0}, {{0, 100, 1}, 4, 6, 1}}},
                   {false, {{{0, 7, 3}, 0, 2, 1}, {{1, 7, 3}, 0, 2, 1}, {{2, 7, 3}, 0, 2, 0}}}}};
  const auto loads = loads_of(plan, tables);
  ASSERT_EQ(loads.size(), 3U);

  EXPECT_EQ(loads[0].tables, 3);
  EXPECT_EQ(loads[0].rows, 10 + 100 + 2);                           // rows 2, 5 of the last table
  EXPECT_EQ(loads[0].table_bytes, 4 * (10 * 4 + 100 * 4 + 2 * 2));  // 1776
  EXPECT_EQ(loads[0].state_bytes, 4 * (0 + 100 * 1 + 2 * 2));       // 416
  EXPECT_EQ(loads[0].bytes(), 1776 + 416);

  EXPECT_EQ(loads[1].tables, 3);  // two shards of one table are one table
  EXPECT_EQ(loads[1].rows, 10 + 100 + 5);
  EXPECT_EQ(loads[1].table_bytes, 4 * (10 * 4 + 100 * 2 + 5 * 2));
  EXPECT_EQ(loads[1].state_bytes, 4 * (0 + 100 * 1 + 5 * 2));

  EXPECT_EQ(loads[2].tables, 1);
  EXPECT_EQ(loads[2].rows, 10);
  EXPECT_EQ(loads[2].bytes(), 4 * 10 * 4);
}

TEST(Plan, equality_is_by_value) {
  const Plan plan{"p", 1, {{false, {{{0, 6, 1}, 0, 4, 0}}}}};
  Plan other = plan;
  EXPECT_EQ(plan, other);
  other.tables[0].shards[0].rows.end = 5;
  EXPECT_NE(plan, other);
}

}  // namespace
}  // namespace shardmark::placement
