// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "comm/placement/plan_check.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/test/random_tables.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

using Matrix = std::vector<std::vector<std::int64_t>>;  ///< by rank, the tables of which it has a shard

Matrix matrix_of(const Plan& plan) {
  Matrix matrix(static_cast<std::size_t>(plan.ranks));
  for (std::size_t t = 0; t < plan.tables.size(); ++t)
    for (const Shard& shard : plan.tables[t].shards) matrix[shard.rank].push_back(static_cast<std::int64_t>(t));
  return matrix;
}

/// One feature per table.
struct PlannedWorkload {
  std::vector<Table> tables;
  std::vector<Feature> features;

  void add(std::int64_t rows, std::int64_t dim, std::int64_t hotness = 1, Pooling pooling = Pooling::sum) {
    features.push_back({fmt::format("f{}", tables.size()), std::ssize(tables), pooling, hotness});
    tables.push_back({fmt::format("t{}", tables.size()), rows, dim, {.kind = OptimizerKind::adagrad}});
  }
  Plan plan(std::string_view planner, const PlanRequest& request) const {
    const Plan made = make_plan(planner, tables, features, request);
    EXPECT_EQ(check(made, tables), std::vector<std::string>());
    return made;
  }
};

/// The tables of the planner's own test (benchmarks/embedding_collection/hugectr/sharding/test_sharding_planner.py):
/// multi-hot Criteo with widths 256, 252, ...
PlannedWorkload multi_hot_criteo() {
  constexpr std::array<std::int64_t, 26> rows{40000000, 39060,    17295,    7424,     20265,  3,     7122, 1543, 63,
                                              40000000, 3067956,  405282,   10,       2209,   11938, 155,  4,    976,
                                              14,       40000000, 40000000, 40000000, 590152, 12973, 108,  36};
  constexpr std::array<std::int64_t, 26> hotness{3, 2, 1, 2, 6, 1, 1,  1,   1,  7,  3, 8, 1,
                                                 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1};
  PlannedWorkload workload;
  for (std::size_t t = 0; t < rows.size(); ++t)
    workload.add(rows[t], 256 - 4 * static_cast<std::int64_t>(t), hotness[t]);
  return workload;
}

constexpr std::int64_t gigabyte = 1'000'000'000;

/// Results of HugeCTR's planner at 2f2016fa (2025-09-15) with two changes: its sorts are stable, and a table that fits
/// nowhere is cut by rows, as in samples/dlrm, where the benchmark cuts columns.
TEST(HugectrPlanners, auto_does_as_hugectr_does) {
  const PlannedWorkload workload = multi_hot_criteo();
  EXPECT_EQ(matrix_of(workload.plan("hugectr_auto:dp_threshold=0",
                                    {.ranks = 8, .global_batch = 2048, .memory = 60 * gigabyte})),
            (Matrix{{12, 21, 23},
                    {9, 18, 20},
                    {10, 16, 20},
                    {3, 7, 20},
                    {0, 6, 20, 25},
                    {1, 2, 8, 13, 19},
                    {0, 4, 14, 15, 24},
                    {5, 9, 11, 17, 22}}));
  EXPECT_EQ(matrix_of(workload.plan("hugectr_auto:ratio=72:dp_threshold=0",
                                    {.ranks = 16, .global_batch = 2048, .memory = 60 * gigabyte})),
            (Matrix{{21},
                    {18, 20},
                    {20, 23},
                    {20, 24},
                    {20, 25},
                    {4, 17},
                    {11, 16},
                    {8, 19},
                    {12, 14},
                    {1, 7},
                    {0, 5},
                    {0, 6},
                    {13, 15},
                    {3, 10},
                    {2, 9},
                    {9, 22}}));
  // Which table is cut first goes by 80 times its columns besides what it looks up: one of 300 random workloads.
  PlannedWorkload three;
  three.add(1366688, 88, 19);
  three.add(1244587, 112, 15);
  three.add(398505, 72, 54);
  EXPECT_EQ(
      matrix_of(three.plan("hugectr_auto:dp_threshold=0", {.ranks = 2, .global_batch = 2048, .memory = 2306837184})),
      (Matrix{{2}, {0, 1}}));
}

TEST(HugectrPlanners, hier_auto_does_as_hugectr_does) {
  const PlannedWorkload workload = multi_hot_criteo();
  const auto expanded = [](const Matrix& nodes) {
    Matrix ranks;
    for (const auto& node : nodes) ranks.insert(ranks.end(), 8, node);
    // Tables of fewer rows than the ranks of their node: ours have no empty shards.
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      std::erase_if(ranks[rank],
                    [&](std::int64_t t) { return (t == 5 && rank % 8 >= 3) || (t == 16 && rank % 8 >= 4); });
    return ranks;
  };
  EXPECT_EQ(
      matrix_of(workload.plan("hugectr_hier_auto:ratio=72:dp_threshold=0",
                              {.ranks = 16, .ranks_per_node = 8, .global_batch = 2048, .memory = 60 * gigabyte})),
      expanded({{1, 3, 6, 8, 9, 14, 15, 16, 18, 20, 22, 24}, {0, 2, 4, 5, 7, 10, 11, 12, 13, 17, 19, 21, 23, 25}}));
  EXPECT_EQ(
      matrix_of(workload.plan("hugectr_hier_auto:ratio=72:dp_threshold=0",
                              {.ranks = 32, .ranks_per_node = 8, .global_batch = 2048, .memory = 60 * gigabyte})),
      expanded({{2, 5, 16, 18, 20}, {7, 10, 13, 14, 17, 21, 24}, {1, 3, 4, 6, 12, 19, 25}, {0, 8, 9, 11, 15, 22, 23}}));
}

TEST(HugectrPlanners, auto_weighs_look_ups_against_vectors) {
  // Two ranks, dim 4, hotness 10 and 1. Per sample, with work 4:
  //   all tables on all ranks   4 (10 + 1) 4 / 2 + ratio (4 + 4) = 88 + 8 ratio
  //   a table each              4 x 10 x 4 + 4 ratio             = 160 + 4 ratio     equal at ratio 18
  //   the first one halved      4 (10 / 2 + 1) 4 + 8 ratio       = 96 + 8 ratio      never the least
  PlannedWorkload workload;
  workload.add(100, 4, 10);
  workload.add(100, 4, 1);
  const PlanRequest request{.ranks = 2};
  EXPECT_EQ(matrix_of(workload.plan("hugectr_auto:ratio=17.9:dp_threshold=0", request)), (Matrix{{0, 1}, {0, 1}}));
  EXPECT_EQ(matrix_of(workload.plan("hugectr_auto:ratio=18.1:dp_threshold=0", request)), (Matrix{{0}, {1}}));
  // With work 8 they are equal at ratio 36.
  EXPECT_EQ(matrix_of(workload.plan("hugectr_auto:work=8:ratio=35.9:dp_threshold=0", request)),
            (Matrix{{0, 1}, {0, 1}}));
  EXPECT_EQ(matrix_of(workload.plan("hugectr_auto:work=8:ratio=36.1:dp_threshold=0", request)), (Matrix{{0}, {1}}));
}

TEST(HugectrPlanners, auto_halves_the_hottest_table) {
  // Four ranks, dim 4, hotness 8, 1, 1, 1; ratio 1, work 4. Per sample:
  //   everywhere                 4 x 11 x 4 / 4 + 16 = 60
  //   a table each               4 x 8 x 4 + 4       = 132
  //   the first on two ranks     4 x 4 x 4 + 4       = 68, the others 20 each, two of them on one rank
  //   on four, the others dealt  4 x 2 x 4 + 4 = 36, and 20 on three of them: 56
  PlannedWorkload workload;
  for (const std::int64_t hotness : {8, 1, 1, 1}) workload.add(100, 4, hotness);
  const Plan plan = workload.plan("hugectr_auto:ratio=1:dp_threshold=0", {.ranks = 4});
  EXPECT_EQ(plan.tables[0].shards.size(), 4U);
  EXPECT_EQ(plan.tables[0].shards[1], (Shard{{1, 100, 4}, 0, 4, 1}));
  for (const std::size_t t : {1, 2, 3}) EXPECT_EQ(plan.tables[t].shards.size(), 1U);
  // Two plans are tried with two iterations: whole tables and the first in halves; 60 is the least of those.
  EXPECT_EQ(workload.plan("hugectr_auto:ratio=1:iterations=2:dp_threshold=0", {.ranks = 4}).tables[1].shards.size(),
            4U);
}

TEST(HugectrPlanners, auto_adds_up_the_features_of_a_table) {
  // A table read by two features of hotness 5 is one of hotness 10 that sends twice: 88 + 12 ratio against
  // 160 + 8 ratio for a table each.
  PlannedWorkload workload;
  workload.add(100, 4, 5);
  workload.add(100, 4, 1);
  workload.features.push_back({"again", 0, Pooling::sum, 5});
  EXPECT_EQ(matrix_of(workload.plan("hugectr_auto:ratio=17.9:dp_threshold=0", {.ranks = 2})), (Matrix{{0, 1}, {0, 1}}));
  EXPECT_EQ(matrix_of(workload.plan("hugectr_auto:ratio=18.1:dp_threshold=0", {.ranks = 2})), (Matrix{{0}, {1}}));
}

TEST(HugectrPlanners, auto_copies_tables_below_the_threshold) {
  PlannedWorkload workload;
  workload.add(124, 1000);  // 992,000 bytes with state
  workload.add(125, 1000);  // 1,000,000
  const Plan plan = workload.plan("hugectr_auto:dp_threshold=0.001", {.ranks = 2});
  EXPECT_TRUE(plan.tables[0].data_parallel);
  EXPECT_FALSE(plan.tables[1].data_parallel);
}

TEST(HugectrPlanners, auto_says_what_does_not_fit) {
  PlannedWorkload workload;
  workload.add(1000, 125);  // 1,000,000 bytes with state
  workload.add(10, 125);    // 10,000
  const auto message = [&](std::int64_t memory) -> std::string {
    try {
      workload.plan("hugectr_auto:dp_threshold=0.0001", {.ranks = 2, .memory = memory});
      return "fits";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message(510000), "fits");
  EXPECT_NE(message(509999).find("take 500000 bytes of a rank, which has 499999 beside its copies"), std::string::npos)
      << message(509999);
}

TEST(HugectrPlanners, table_row_wise_deals_nodes) {
  PlannedWorkload workload;
  for (int t = 0; t < 3; ++t) workload.add(10, 4);
  EXPECT_EQ(matrix_of(workload.plan("hugectr_table_row_wise", {.ranks = 5, .ranks_per_node = 2})),
            (Matrix{{0}, {0}, {1}, {1}, {2}}));
  // A table is 320 bytes with state, 160 of each rank of its node: too much, so that it goes to all.
  EXPECT_EQ(matrix_of(workload.plan("hugectr_table_row_wise", {.ranks = 4, .ranks_per_node = 2, .memory = 159})),
            (Matrix{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2}}));
}

TEST(HugectrPlanners, hybrid_goes_by_the_share_of_all_elements) {
  // 1000 elements, 4 ranks, 2 per node, 5 tables: copies below 50, one rank below 250, a node below 500, then all.
  PlannedWorkload workload;
  workload.add(49, 1);
  workload.add(50, 1);
  workload.add(249, 1);
  workload.add(499, 1);
  workload.add(153, 1);
  const auto tables = workload.plan("hugectr_hybrid", {.ranks = 4, .ranks_per_node = 2}).tables;
  EXPECT_TRUE(tables[0].data_parallel);
  EXPECT_EQ(tables[1].shards, (std::vector<Shard>{{{0, 50, 1}, 0, 1, 0}}));
  EXPECT_EQ(tables[2].shards, (std::vector<Shard>{{{0, 249, 1}, 0, 1, 1}}));
  EXPECT_EQ(tables[3].shards, (std::vector<Shard>{{{0, 499, 2}, 0, 1, 0}, {{1, 499, 2}, 0, 1, 1}}));
  EXPECT_EQ(tables[4].shards, (std::vector<Shard>{{{0, 153, 1}, 0, 1, 2}}));

  PlannedWorkload halves;
  halves.add(500, 1);
  halves.add(500, 1);
  EXPECT_EQ(halves.plan("hugectr_hybrid", {.ranks = 4, .ranks_per_node = 2}).tables[0].shards.size(), 4U);
  PlannedWorkload sequence;
  sequence.add(1, 1, 1, Pooling::none);
  sequence.add(1000, 1);
  EXPECT_FALSE(sequence.plan("hugectr_hybrid", {.ranks = 2}).tables[0].data_parallel);
}

/// Also tables without feature, and nodes of several sizes that need not divide the ranks.
TEST(PlannersOfOthers, make_sound_plans_for_any_number_of_ranks_and_nodes) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    RandomTables workload(random);
    if (seed % 3 == 0) workload.tables.push_back({"unread", 5, 4, {}});
    for (const char* planner :
         {"hugectr_table_row_wise", "hugectr_hybrid", "hugectr_auto:dp_threshold=0",
          "hugectr_hier_auto:dp_threshold=1e-7", "cost_rule:hint=10", "cost_rule_bytes", "torchrec"})
      for (const int ranks : {1, 3, 17, 128}) {
        const int node = std::array{0, 1, 4, 8, 200}[seed % 5];
        SCOPED_TRACE(testing::Message() << planner << ", " << ranks << " ranks, " << node << " a node, seed " << seed);
        const Plan plan =
            make_plan(planner, workload.tables, workload.features, {.ranks = ranks, .ranks_per_node = node});
        EXPECT_EQ(check(plan, workload.tables), std::vector<std::string>());
      }
  }
}

TEST(CostRule, copies_tables_up_to_the_hint) {
  PlannedWorkload workload;
  for (const std::int64_t rows : {3, 4, 64, 65}) workload.add(rows, 4);
  const auto copied = [&](std::string_view planner, const PlanRequest& request) {
    std::string text;
    for (const auto& table : workload.plan(planner, request).tables) text += table.data_parallel ? 'c' : 's';
    return text;
  };
  EXPECT_EQ(copied("cost_rule", {.ranks = 4, .global_batch = 256}), "cccs");  // 64 samples of a rank
  EXPECT_EQ(copied("cost_rule:hint=3", {.ranks = 3, .global_batch = 256}), "csss");
  EXPECT_EQ(copied("cost_rule:hint=0", {.ranks = 4, .global_batch = 256}), "ccss");  // as many rows as ranks
  const Plan plan = workload.plan("cost_rule:hint=64", {.ranks = 2});
  EXPECT_EQ(plan.tables[3].shards, (std::vector<Shard>{{{0, 65, 2}, 0, 4, 0}, {{1, 65, 2}, 0, 4, 1}}));
}

TEST(CostRule, by_bytes_counts_distinct_rows_and_wire_types) {
  // Of N equally likely rows, n ids name N (1 - (1 - 1/N)^n). With d = 4, fp32 and ids of 4 bytes a table is copied
  // where 32 N <= U (32 + 4), U / N >= 8/9: for N = 100 from (0.99)^n <= 1/9, n >= 218.6. fp16 both ways: 16 + 4 bytes,
  // never.
  PlannedWorkload workload;
  workload.add(100, 4);
  const auto copied = [&](std::int64_t samples, Movement movement = {}) {
    return workload.plan("cost_rule_bytes", {.ranks = 2, .global_batch = 2 * samples, .movement = movement})
        .tables[0]
        .data_parallel;
  };
  EXPECT_FALSE(copied(218));
  EXPECT_TRUE(copied(219));
  EXPECT_FALSE(copied(100000, {.wire = {ValueType::fp16, ValueType::fp16}}));
  // Ids of 8 bytes: U / N >= 32 / 40, n >= 160.1.
  EXPECT_FALSE(copied(160, {.wire_ids = WireIds::int64}));
  EXPECT_TRUE(copied(161, {.wire_ids = WireIds::int64}));
  // Two ids per sample name as many rows as twice the samples.
  workload.features[0].hotness = 2;
  EXPECT_FALSE(copied(109));
  EXPECT_TRUE(copied(110));
}

/// 100 samples, a of 3 ids and b of 1 in 4 columns each: values that are looked up 12 and 4, sent 4 and 4.
TEST(HugectrCost, is_that_of_the_costliest_rank) {
  const std::vector<Table> tables{{"a", 100, 4, {}}, {"b", 100, 4, {}}};
  const std::vector<Feature> features{{"f", 0, Pooling::sum, 3}, {"g", 1}};
  PlanRequest request{.ranks = 2, .global_batch = 100};
  request.settings = {"hugectr_auto", "work=4:ratio=7", hugectr_auto_settings};
  const auto cost = [&](std::vector<TablePlacement> placements) {
    return hugectr_cost({.name = "p", .ranks = 2, .tables = std::move(placements)}, tables, features, request);
  };
  const TablePlacement a0{.shards = {whole(tables[0], 0)}}, b0{.shards = {whole(tables[1], 0)}},
      b1{.shards = {whole(tables[1], 1)}}, copies{.data_parallel = true, .shards = {}};
  const TablePlacement a_rows{.shards = {{{0, 100, 2}, 0, 4, 0}, {{1, 100, 2}, 0, 4, 1}}},
      a_columns{.shards = {{{0, 100, 1}, 0, 3, 0}, {{0, 100, 1}, 3, 4, 1}}};
  EXPECT_EQ(cost({a0, b1}), 100 * (4 * 12 + 7 * 4));
  EXPECT_EQ(cost({a0, b0}), 100 * (4 * 16 + 7 * 8));
  EXPECT_EQ(cost({a_rows, copies}), 100 * (4 * 6 + 7 * 4));
  EXPECT_EQ(cost({a_columns, copies}), 100 * (4 * 9 + 7 * 3));
  EXPECT_EQ(cost({copies, copies}), 0);
  TablePlacement hot = a_rows;
  hot.hot_rows = 10;
  EXPECT_FALSE(cost({hot, copies}).has_value());
}

}  // namespace
}  // namespace shardmark::placement
