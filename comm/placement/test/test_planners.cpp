// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "comm/placement/plan_check.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/test/random_tables.hpp"

namespace shardmark::placement {
namespace {

/// Rows x columns of the example of NVIDIA distributed-embeddings' strategies.
std::vector<Table> seven_tables() {
  std::vector<Table> tables;
  for (const auto& [rows, dim] :
       std::initializer_list<std::pair<int, int>>{{100, 8}, {5, 8}, {10, 8}, {25, 4}, {40, 16}, {3, 8}, {64, 4}})
    tables.push_back({fmt::format("T{}", tables.size()), rows, dim, {}});
  return tables;
}

std::vector<TablePlacement> placed(std::string_view planner, const std::vector<Table>& tables, int ranks,
                                   std::int64_t replicate_rows = 6000) {
  return make_plan(planner, tables, {}, {.ranks = ranks, .replicate_rows = replicate_rows}).tables;
}

TEST(Planners, table_wise_deals_tables_as_the_basic_strategy) {
  // strategy basic, 3 ranks: [[0,3,6],[1,4],[2,5]]
  const auto tables = seven_tables();
  const auto placements = placed("table_wise", tables, 3);
  const std::vector<int> expected{0, 1, 2, 0, 1, 2, 0};
  for (std::size_t t = 0; t < expected.size(); ++t)
    EXPECT_EQ(placements[t], (TablePlacement{false, {{{0, tables[t].rows, 1}, 0, tables[t].dim, expected[t]}}})) << t;
}

TEST(Planners, row_wise_is_modulo_and_leaves_out_empty_shards) {
  const auto placements = placed("row_wise", seven_tables(), 4);
  EXPECT_EQ(
      placements[0],
      (TablePlacement{
          false, {{{0, 100, 4}, 0, 8, 0}, {{1, 100, 4}, 0, 8, 1}, {{2, 100, 4}, 0, 8, 2}, {{3, 100, 4}, 0, 8, 3}}}));
  EXPECT_EQ(placements[5], (TablePlacement{false, {{{0, 3, 4}, 0, 8, 0}, {{1, 3, 4}, 0, 8, 1}, {{2, 3, 4}, 0, 8, 2}}}));
}

TEST(Planners, row_wise_block_gives_the_last_ranks_fewer_rows) {
  // TorchRec, 3 ranks: blocks of ceil(100 / 3) rows
  const auto placements = placed("row_wise_block", seven_tables(), 3);
  EXPECT_EQ(placements[0],
            (TablePlacement{false, {{{0, 34, 1}, 0, 8, 0}, {{34, 68, 1}, 0, 8, 1}, {{68, 100, 1}, 0, 8, 2}}}));
  EXPECT_EQ(placed("row_wise_block", seven_tables(), 4)[5],
            (TablePlacement{false, {{{0, 1, 1}, 0, 8, 0}, {{1, 2, 1}, 0, 8, 1}, {{2, 3, 1}, 0, 8, 2}}}));
}

TEST(Planners, column_wise_deals_columns_round_robin) {
  const std::vector<Table> tables{{"A", 9, 7, {}}, {"B", 9, 2, {}}, {"C", 9, 1, {}}, {"D", 9, 4, {}}};
  const auto placements = placed("column_wise", tables, 3);
  EXPECT_EQ(placements[0], (TablePlacement{false, {{{0, 9, 1}, 0, 3, 0}, {{0, 9, 1}, 3, 5, 1}, {{0, 9, 1}, 5, 7, 2}}}));
  EXPECT_EQ(placements[1], (TablePlacement{false, {{{0, 9, 1}, 0, 1, 1}, {{0, 9, 1}, 1, 2, 2}}}));
  EXPECT_EQ(placements[2], (TablePlacement{false, {{{0, 9, 1}, 0, 1, 0}}}));
  EXPECT_EQ(placements[3], (TablePlacement{false, {{{0, 9, 1}, 0, 2, 1}, {{0, 9, 1}, 2, 3, 2}, {{0, 9, 1}, 3, 4, 0}}}));
}

TEST(Planners, column_wise_gives_every_rank_equally_many_columns) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const RandomTables workload(random);
    const int ranks = round % 9 + 1;
    std::vector<std::int64_t> columns(static_cast<std::size_t>(ranks));
    for (const auto& placement : placed("column_wise", workload.tables, ranks))
      for (const Shard& shard : placement.shards) columns[shard.rank] += shard.columns();
    EXPECT_LE(*std::ranges::max_element(columns) - *std::ranges::min_element(columns), 1);
  }
}

TEST(Planners, mixed_rule_replicates_up_to_the_limit_and_deals_the_rest) {
  const std::vector<Table> tables{
      {"A", 11, 2, {}}, {"B", 10, 2, {}}, {"C", 12, 2, {}}, {"D", 1, 2, {}}, {"E", 99, 2, {}}};
  const auto placements = placed("data_parallel+table_wise", tables, 2, 10);
  EXPECT_EQ(placements[0], (TablePlacement{false, {{{0, 11, 1}, 0, 2, 0}}}));
  EXPECT_EQ(placements[1], (TablePlacement{true, {}}));
  EXPECT_EQ(placements[2], (TablePlacement{false, {{{0, 12, 1}, 0, 2, 1}}}));
  EXPECT_EQ(placements[3], (TablePlacement{true, {}}));
  EXPECT_EQ(placements[4], (TablePlacement{false, {{{0, 99, 1}, 0, 2, 0}}}));
}

TEST(Planners, hot_rows_are_the_first_that_have_the_mass) {
  const std::vector<Table> tables{{"A", 10, 2, {}}, {"B", 100'000, 2, {}}};
  const std::vector<Feature> features{{"a", 0, Pooling::sum, 1}, {"b", 1, Pooling::sum, 3}};
  const auto place = [&](std::string_view name, double alpha, std::int64_t replicate_rows) {
    const PlanRequest request{.ranks = 2, .replicate_rows = replicate_rows, .ids = {.alpha = alpha}};
    const auto placements = make_plan(name, tables, features, request).tables;
    EXPECT_EQ(placements[0], (TablePlacement{true, {}}));
    const std::int64_t hot = placements[1].hot_rows;
    EXPECT_EQ(placements[1].shards,
              (std::vector<Shard>{{{hot, 100'000, 2}, 0, 2, 0}, {{hot + 1, 100'000, 2}, 0, 2, 1}}));
    return hot;
  };
  EXPECT_EQ(place("hot_rows", 0.0, 80'000), 50'000);
  EXPECT_EQ(place("hot_rows:mass=0.25", 0.0, 80'000), 25'000);
  EXPECT_EQ(place("hot_rows", 0.0, 6000), 6000);
  EXPECT_EQ(place("hot_rows:rows=70", 0.0, 20), 70);
  EXPECT_EQ(place("hot_rows:rows=0", 0.0, 20), 0);
  // p_0 + ... + p_(h - 1) = log(h + 1) / log(N + 1), which is 1/2 at h = sqrt(N + 1) - 1 = 315.2
  EXPECT_EQ(place("hot_rows", 1.0, 6000), 316);
}

TEST(Planners, data_parallel_has_no_shards) {
  for (const auto& placement : placed("data_parallel", seven_tables(), 3))
    EXPECT_EQ(placement, (TablePlacement{true, {}}));
}

TEST(Planners, every_planner_makes_sound_plans) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const RandomTables workload(random);
    for (const Planner& planner : planners)
      for (int ranks = 1; ranks <= 9; ++ranks) {
        if (planner.name == "search" && seed % 50 > 0) continue;  // which asks all others, and takes its time
        SCOPED_TRACE(testing::Message() << planner.name << ", " << ranks << " ranks, seed " << seed);
        const Plan plan =
            make_plan(planner.name, workload.tables, workload.features, {.ranks = ranks, .replicate_rows = 10});
        EXPECT_EQ(plan.ranks, ranks);
        EXPECT_EQ(plan.name, planner.name);
        EXPECT_EQ(check(plan, workload.tables), std::vector<std::string>());
      }
  }
}

std::string message(std::string_view planner) {
  try {
    placed(planner, seven_tables(), 2);
  } catch (const InputError& error) {
    return error.what();
  }
  return "did not throw";
}

/// Every planner's settings are said as `list` prints them, and others are refused with the valid ones.
TEST(Planners, settings_are_those_of_the_table) {
  for (const Planner& planner : planners) {
    std::string said{planner.name}, names;
    for (const PlannerSetting& setting : planner.settings) {
      if (!setting.usual.empty()) said += fmt::format(":{}={}", setting.name, setting.usual);
      names += fmt::format("{}{}", names.empty() ? "" : ", ", setting.name);
    }
    SCOPED_TRACE(said);
    EXPECT_EQ(placed(said, seven_tables(), 3), placed(planner.name, seven_tables(), 3));
    EXPECT_NE(message(fmt::format("{}:nosuch=1", planner.name)).find(names), std::string::npos);
  }
}

TEST(Planners, bad_settings_say_what_is_valid) {
  EXPECT_EQ(message("basic:column_treshold=8"),
            "unknown setting of planner 'basic' 'column_treshold'; did you mean 'column_threshold'? valid: "
            "column_threshold, row_threshold, dp_threshold, merge");
  EXPECT_EQ(message("basic:row_threshold=0"), "planner 'basic': row_threshold must be a number of at least 1, not '0'");
  EXPECT_EQ(message("basic:merge=yes"), "planner 'basic': merge must be on or off, not 'yes'");
  EXPECT_EQ(message("basic:merge"), "planner 'basic': 'merge' is no setting; write basic:KEY=VALUE");
  EXPECT_EQ(message("row_wise:stride=2"), "planner 'row_wise' has no settings, such as 'stride=2'");
  EXPECT_EQ(message("random:seed=-1"), "planner 'random': seed must be a number of at least 0, not '-1'");
}

TEST(Planners, bad_requests_name_the_valid_ones) {
  EXPECT_THROW(placed("row_wise", seven_tables(), 0), InputError);
  EXPECT_THROW(placed("row_wise", seven_tables(), largest_job + 1), InputError);
  try {
    placed("rowwise", seven_tables(), 2);
    FAIL() << "did not throw";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("row_wise_block"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace shardmark::placement
