// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "comm/placement/formats/torchrec_plan.hpp"
#include "comm/placement/plan_check.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/test/random_tables.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

const std::vector<Table> two_blocks{{"A", 10, 4, {}}, {"B", 7, 8, {}}};

TEST(TorchrecPlan, is_written_as_documented) {
  const Plan plan{"p", 2, {{true, {}}, {false, {{{0, 4, 1}, 0, 8, 0}, {{4, 7, 1}, 0, 8, 1}}}}};
  const std::string text = plan_to_torchrec(plan, two_blocks);
  EXPECT_EQ(nlohmann::json::parse(text), nlohmann::json::parse(R"(
  {"world_size": 2, "plan": {"embedding_bag_collection": {
    "A": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1]},
    "B": {"sharding_type": "row_wise", "compute_kernel": "fused", "ranks": [0, 1], "shards": [
      {"shard_offsets": [0, 0], "shard_sizes": [4, 8], "placement": "rank:0/cpu"},
      {"shard_offsets": [4, 0], "shard_sizes": [3, 8], "placement": "rank:1/cpu"}]}}}})"));
  EXPECT_EQ(plan_from_torchrec(text, "t.json", "p", two_blocks), plan);
}

/// As _serialize writes it on two GPUs: two modules, no number of ranks, an empty shard.
TEST(TorchrecPlan, reads_what_torchrec_writes) {
  const Plan plan = plan_from_torchrec(R"({"plan": {
    "sparse.a": {"A": {"sharding_type": "table_wise", "compute_kernel": "fused", "ranks": [1], "shards": [
      {"shard_offsets": [0, 0], "shard_sizes": [10, 4], "placement": "rank:1/cuda:1"}]}},
    "sparse.b": {"B": {"sharding_type": "row_wise", "compute_kernel": "fused_uvm", "ranks": null, "shards": [
      {"shard_offsets": [0, 0], "shard_sizes": [7, 8], "placement": "rank:0/cuda:0"},
      {"shard_offsets": [7, 0], "shard_sizes": [0, 8], "placement": "rank:1/cuda:1"}]}}}})",
                                       "t.json", "p", two_blocks);
  EXPECT_EQ(plan, (Plan{"p", 2, {{false, {{{0, 10, 1}, 0, 4, 1}}}, {false, {{{0, 7, 1}, 0, 8, 0}}}}}));
}

/// As TorchEasyRec writes the file `plan` of a checkpoint: modules alone, no shards.
TEST(TorchrecPlan, reads_what_torcheasyrec_leaves_in_checkpoints) {
  const std::string text = R"({"embedding_group.emb_impls.deep.ebc": {
    "A": {"sharding_type": "column_wise", "compute_kernel": "fused", "ranks": [3, 1]},
    "B": {"sharding_type": "row_wise", "compute_kernel": "fused_uvm_caching", "ranks": [0, 1, 2, 3, 4]}}})";
  EXPECT_TRUE(is_torchrec_plan(nlohmann::ordered_json::parse(text)));
  EXPECT_FALSE(is_torchrec_plan(nlohmann::ordered_json::parse(R"({"format": "shardmark-plan/1", "tables": [{}]})")));
  const Plan plan = plan_from_torchrec(text, "plan", "p", two_blocks);
  EXPECT_EQ(
      plan,
      (Plan{"p",
            5,
            {{false, {{{0, 10, 1}, 0, 2, 3}, {{0, 10, 1}, 2, 4, 1}}},
             {false, {{{0, 2, 1}, 0, 8, 0}, {{2, 4, 1}, 0, 8, 1}, {{4, 6, 1}, 0, 8, 2}, {{6, 7, 1}, 0, 8, 3}}}}}));
}

std::string type_of(const TablePlacement& placement, int ranks) {
  const Plan plan{"p", ranks, {{true, {}}, placement}};
  EXPECT_EQ(check(plan, two_blocks), std::vector<std::string>());
  const std::string text = plan_to_torchrec(plan, two_blocks);
  EXPECT_EQ(plan_from_torchrec(text, "t.json", "p", two_blocks), plan);
  return nlohmann::json::parse(text)["plan"]["embedding_bag_collection"]["B"]["sharding_type"];
}

TEST(TorchrecPlan, knows_the_sharding_types) {
  EXPECT_EQ(type_of({false, {{{0, 7, 1}, 0, 8, 2}}}, 4), "table_wise");
  EXPECT_EQ(type_of({false, {{{0, 7, 1}, 0, 4, 3}, {{0, 7, 1}, 4, 8, 3}}}, 4), "column_wise");
  EXPECT_EQ(type_of({false, {{{0, 4, 1}, 0, 8, 0}, {{4, 7, 1}, 0, 8, 1}}}, 2), "row_wise");
  EXPECT_EQ(
      type_of({false, {{{0, 2, 1}, 0, 8, 0}, {{2, 4, 1}, 0, 8, 1}, {{4, 6, 1}, 0, 8, 2}, {{6, 7, 1}, 0, 8, 3}}}, 5),
      "row_wise");  // 2, 2, 2, 1, 0
  EXPECT_EQ(type_of({false, {{{0, 4, 1}, 0, 8, 2}, {{4, 7, 1}, 0, 8, 3}}}, 4), "table_row_wise");
  EXPECT_EQ(
      type_of({false, {{{0, 4, 1}, 0, 4, 2}, {{4, 7, 1}, 0, 4, 3}, {{0, 4, 1}, 4, 8, 0}, {{4, 7, 1}, 4, 8, 1}}}, 4),
      "grid_shard");
}

TEST(TorchrecPlan, round_trip_keeps_what_planners_without_modulo_make) {
  int refused = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const RandomTables workload(random);
    const int ranks = static_cast<int>(seed % 9) + 1;
    for (const char* planner : {"table_wise", "data_parallel", "column_wise", "row_wise_block", "torchrec"}) {
      Plan plan = make_plan(planner, workload.tables, workload.features, {.ranks = ranks, .ranks_per_node = 2});
      for (TablePlacement& placement : plan.tables)
        std::ranges::sort(placement.shards, {}, [](const Shard& s) { return std::pair(s.column_begin, s.rows.begin); });
      try {
        const std::string text = plan_to_torchrec(plan, workload.tables);
        EXPECT_EQ(plan_from_torchrec(text, "t.json", planner, workload.tables), plan) << text;
      } catch (const InputError& error) {  // of tables whose columns are no multiples of 4
        EXPECT_EQ(planner, std::string_view("column_wise")) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_LT(refused, 60);
}

TEST(TorchrecPlan, what_cannot_be_expressed_is_refused_by_name) {
  const auto message = [](const TablePlacement& placement) -> std::string {
    const Plan plan{"p", 4, {{true, {}}, placement}};
    EXPECT_EQ(check(plan, two_blocks), std::vector<std::string>());
    try {
      return plan_to_torchrec(plan, two_blocks);
    } catch (const InputError& error) {
      return error.what();
    }
  };
  const std::string cannot = "table 'B': a TorchRec sharding plan cannot express ";
  EXPECT_EQ(message({false, {{{0, 7, 2}, 0, 8, 0}, {{1, 7, 2}, 0, 8, 1}}}),
            cannot + "rows modulo 2: its shards are contiguous; split it with row_wise_block");
  EXPECT_EQ(
      message({false, {{{0, 4, 1}, 0, 8, 3}, {{4, 7, 1}, 0, 8, 1}}}),
      cannot + "blocks of rows on ranks that are no neighbours (rank 3 first); deal them in the order of the ranks");
  EXPECT_EQ(message({false, {{{0, 4, 1}, 0, 4, 0}, {{4, 7, 1}, 0, 4, 1}, {{0, 7, 1}, 4, 8, 2}}}),
            cannot +
                "columns 4 to 8 on other than 2 neighbouring ranks, in order of their rows; cut each block of columns "
                "into as many blocks of rows");
  EXPECT_EQ(
      message({false, {{{0, 3, 1}, 0, 8, 2}, {{3, 7, 1}, 0, 8, 3}}}),
      cannot + "rows 0 to 3 as block 0 of 2, by which TorchRec would have rows 0 to 4; split it with row_wise_block");
  EXPECT_EQ(
      message({false, {{{0, 5, 1}, 0, 4, 0}, {{5, 7, 1}, 0, 4, 1}, {{0, 4, 1}, 4, 8, 2}, {{4, 7, 1}, 4, 8, 3}}}),
      cannot + "rows 0 to 5 as block 0 of 2, by which TorchRec would have rows 0 to 4; split it with row_wise_block");
  EXPECT_EQ(message({false, {{{0, 7, 1}, 0, 5, 3}, {{0, 7, 1}, 5, 8, 2}}}),
            cannot + "columns 0 to 5; give blocks of columns multiples of 4");
  EXPECT_EQ(message({.shards = {{{2, 7, 1}, 0, 8, 0}}, .hot_rows = 2}),
            cannot + "copies of its first 2 rows on every rank; place it without hot rows");
  EXPECT_EQ(message({.shards = {{{0, 7, 1}, 0, 8, 0}}, .storage = Storage::tt}),
            cannot + "its storage, tt; leave it as the workload says");
}

TEST(TorchrecPlan, files_that_say_something_else_are_refused) {
  const auto refusal = [](const std::string& of_b) -> std::string {
    try {
      plan_from_torchrec(
          R"({"plan": {"m": {"A": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0]})" + of_b +
              "}}}",
          "t.json", "p", two_blocks);
      return "read";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  const auto b = [&](const std::string& rest) {
    return refusal(R"(, "B": {"sharding_type": "table_wise", )" + rest + "}");
  };
  const auto shard = [&](const std::string& text) { return b(R"("shards": [)" + text + "]"); };
  EXPECT_EQ(shard(R"({"shard_offsets": [0, 0], "shard_sizes": [7, 8], "placement": "rank:0"})"), "read");
  EXPECT_EQ(refusal(""), "t.json: table 'B' is missing; place every table of the workload");
  EXPECT_EQ(refusal(R"(, "C": {})"), "t.json: the workload has no table 'C', or the plan places it twice");
  EXPECT_EQ(refusal(R"(}, "n": {"A": {})"), "t.json: the workload has no table 'A', or the plan places it twice");
  EXPECT_EQ(b(R"("ranks": [0])"), "read");
  EXPECT_EQ(b(R"("ranks": null)"), "t.json, table 'B': 'shards' is missing, and 'ranks' is no list");
  EXPECT_EQ(b(R"("ranks": [0, 1])"), "t.json, table 'B': 2 ranks hold a table that is table_wise");
  EXPECT_EQ(b(R"("compute_kernel": "customized_kernel", "ranks": [0])"),
            "t.json, table 'B': the rows of a customized_kernel are where it says, which no plan does");
  EXPECT_EQ(b(R"("ranks": [-1], "shards": [])"), "t.json, table 'B': there is no rank -1");
  EXPECT_EQ(refusal(R"(, "B": {"sharding_type": "row-wise"})"),
            "t.json, table 'B': sharding type 'row-wise' is none of data_parallel, table_wise, column_wise, row_wise, "
            "table_row_wise, table_column_wise, grid_shard");
  EXPECT_EQ(refusal(R"(, "B": {"sharding_type": "data_parallel", "shards": []})"),
            "t.json, table 'B': a data_parallel table has no 'shards'");
  for (const char* placement : {"3", "\"rank:-1/cpu\"", "\"rank:x\"", "\"cuda:0\"", "\"rank:1048576\""})
    EXPECT_EQ(shard(R"({"shard_offsets": [0, 0], "shard_sizes": [7, 8], "placement": )" + std::string(placement) + "}"),
              "t.json, table 'B', shard 0: 'placement' must be \"rank:R/DEVICE\", with R below 1048576");
  EXPECT_EQ(shard(R"({"shard_offsets": [0, -1], "shard_sizes": [7, 8], "placement": "rank:0"})"),
            "t.json, table 'B', shard 0: offsets and sizes must be numbers from 0 to 2^62");
  EXPECT_EQ(shard(R"({"shard_offsets": [0], "shard_sizes": [7, 8], "placement": "rank:0"})"),
            "t.json, table 'B', shard 0: 'shard_offsets' must be a list of 2 integers");
}

}  // namespace
}  // namespace shardmark::placement
