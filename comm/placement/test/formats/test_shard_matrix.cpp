// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "comm/placement/formats/hugectr_plan_file.hpp"
#include "comm/placement/formats/shard_matrix.hpp"
#include "comm/placement/plan_check.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/test/random_tables.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

using Json = nlohmann::json;

const std::vector<Table> matrix_tables{{"A", 10, 4, {}}, {"B", 7, 6, {}}, {"C", 9, 4, {}}};

TEST(ShardMatrix, is_written_as_documented) {
  const Plan plan{"p",
                  4,
                  {{true, {}},
                   {false, {{{0, 7, 1}, 0, 6, 1}}},
                   {false, {{{0, 9, 2}, 0, 2, 0}, {{1, 9, 2}, 0, 2, 1}, {{0, 9, 2}, 2, 4, 2}, {{1, 9, 2}, 2, 4, 3}}}}};
  const std::string text = plan_to_shard_matrix(plan, matrix_tables);
  EXPECT_EQ(text, R"({"shard_matrix": [
  ["A","C"],
  ["A","B","C"],
  ["A","C"],
  ["A","C"]
 ],
 "shard_strategy": [
  ["mp",["B",["C",2]]],
  ["dp",["A"]]
 ]}
)");
  EXPECT_EQ(plan_from_shard_matrix(text, "m.json", "p", matrix_tables), plan);
}

/// The notebook's second example is said to be this matrix (plan_examples.json, table_wise_plus_dp_notebook).
TEST(ShardMatrix, says_the_same_as_a_plan_file) {
  const std::vector<Table> notebook{{"t0", 1000, 16, {}}, {"t1", 500, 16, {}}, {"t2", 800, 16, {}}, {"t3", 20, 16, {}}};
  const std::vector<Feature> lookups{{"0", 0}, {"1", 1}, {"2", 2}, {"3", 1}, {"4", 3}};
  const Plan plan = plan_from_hugectr(R"([
    [{"local_embedding_list": [0, 2], "global_embedding_list": [[0, 2], [1, 3]], "table_placement_strategy": "mp"},
     {"local_embedding_list": [4], "global_embedding_list": [[4], [4]], "table_placement_strategy": "dp"}],
    [{"local_embedding_list": [1, 3], "global_embedding_list": [[0, 2], [1, 3]], "table_placement_strategy": "mp"},
     {"local_embedding_list": [4], "global_embedding_list": [[4], [4]], "table_placement_strategy": "dp"}]])",
                                      "notebook", "n", {.tables = notebook, .lookups = lookups});
  EXPECT_EQ(Json::parse(plan_to_shard_matrix(plan, notebook)), Json::parse(R"({
    "shard_matrix": [["t0", "t2", "t3"], ["t1", "t3"]],
    "shard_strategy": [["mp", ["t0", "t1", "t2"]], ["dp", ["t3"]]]})"));
}

/// A split into row shards modulo r times column blocks, over random ascending ranks; or a copy on every rank.
Plan random_matrix_plan(const std::vector<Table>& of, int ranks, std::mt19937& random) {
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  Plan plan{"random", ranks, {}};
  std::vector<int> order(static_cast<std::size_t>(ranks));
  for (const Table& table : of) {
    TablePlacement placement{.data_parallel = draw(0, 4) == 0, .shards = {}};
    std::int64_t columns = draw(1, ranks);
    while (table.dim % columns != 0) --columns;
    const std::int64_t rows = std::min<std::int64_t>(draw(1, ranks / static_cast<int>(columns)), table.rows);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    std::ranges::sort(order.begin(), order.begin() + columns * rows);
    for (std::int64_t k = 0; !placement.data_parallel && k < columns * rows; ++k) {
      const std::int64_t width = table.dim / columns, begin = k / rows * width;
      placement.shards.push_back({{k % rows, table.rows, rows}, begin, begin + width, order[k]});
    }
    plan.tables.push_back(std::move(placement));
  }
  return plan;
}

TEST(ShardMatrix, round_trip_keeps_regular_plans) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const RandomTables workload(random);
    const Plan plan = random_matrix_plan(workload.tables, static_cast<int>(seed % 9) + 1, random);
    ASSERT_EQ(check(plan, workload.tables), std::vector<std::string>());
    const std::string text = plan_to_shard_matrix(plan, workload.tables);
    EXPECT_EQ(plan_from_shard_matrix(text, "m.json", "random", workload.tables), plan) << text;
  }
}

TEST(ShardMatrix, keeps_ranks_without_rows) {
  const std::vector<Table> small{{"A", 3, 4, {}}};
  const Plan uniform = make_plan("row_wise", small, {}, {.ranks = 5});
  EXPECT_EQ(Json::parse(plan_to_shard_matrix(uniform, small))["shard_matrix"],
            Json::parse(R"([["A"], ["A"], ["A"], ["A"], ["A"]])"));
  EXPECT_EQ(plan_from_shard_matrix(plan_to_shard_matrix(uniform, small), "m", "row_wise", small), uniform);
  // On ranks 2 to 4 no two others come after the last: the same rows are written without them.
  const Plan late{"p", 5, {{false, {{{0, 3, 5}, 0, 4, 2}, {{1, 3, 5}, 0, 4, 3}, {{2, 3, 5}, 0, 4, 4}}}}};
  const Plan read = plan_from_shard_matrix(plan_to_shard_matrix(late, small), "m", "p", small);
  EXPECT_EQ(read.tables[0].shards,
            (std::vector<Shard>{{{0, 3, 3}, 0, 4, 2}, {{1, 3, 3}, 0, 4, 3}, {{2, 3, 3}, 0, 4, 4}}));
}

TEST(ShardMatrix, what_cannot_be_expressed_is_refused_by_name) {
  const auto message = [](const TablePlacement& placement) -> std::string {
    const Plan plan{"p", 3, {{true, {}}, placement, {true, {}}}};
    EXPECT_EQ(check(plan, matrix_tables), std::vector<std::string>());
    try {
      return plan_to_shard_matrix(plan, matrix_tables);
    } catch (const InputError& error) {
      return error.what();
    }
  };
  const std::string cannot = "table 'B': a HugeCTR shard matrix cannot express ";
  EXPECT_EQ(message({false, {{{0, 7, 1}, 0, 2, 0}, {{0, 7, 1}, 2, 6, 1}}}),
            cannot + "columns 0 to 2 on rank 0; cut its 6 columns into equal blocks");
  EXPECT_EQ(message({false, {{{0, 7, 2}, 0, 6, 1}, {{1, 7, 2}, 0, 6, 1}}}),
            cannot + "two shards of it on rank 1; give each shard a rank of its own");
  const std::string rows = cannot +
                           "shards in other rows than modulo the ranks that hold them, in the order of these "
                           "ranks; split it with row_wise, column_wise or table_wise";
  EXPECT_EQ(message({false, {{{0, 4, 1}, 0, 6, 0}, {{4, 7, 1}, 0, 6, 1}}}), rows);
  EXPECT_EQ(message({false, {{{0, 7, 2}, 0, 6, 1}, {{1, 7, 2}, 0, 6, 0}}}), rows);
  EXPECT_EQ(message({false, {{{0, 7, 1}, 0, 3, 0}, {{0, 7, 2}, 3, 6, 1}, {{1, 7, 2}, 3, 6, 2}}}), rows);
  EXPECT_EQ(message({.shards = {{{2, 7, 1}, 0, 6, 0}}, .hot_rows = 2}),
            cannot + "copies of its first 2 rows on every rank; place it without hot rows");
  EXPECT_EQ(message({.shards = {{{0, 7, 1}, 0, 6, 0}}, .storage = Storage::tt}),
            cannot + "its storage, tt; leave it as the workload says");
}

std::string refusal(const std::string& matrix, const std::string& strategy) {
  try {
    plan_from_shard_matrix(R"({"shard_matrix": )" + matrix + R"(, "shard_strategy": )" + strategy + "}", "m.json", "p",
                           matrix_tables);
    return "read";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(ShardMatrix, files_that_say_something_else_are_refused) {
  const std::string matrix = R"([["A", "B", "C"], ["A", "C"]])";
  const std::string strategy = R"([["mp", ["A", "B"]], ["dp", ["C"]]])";
  EXPECT_EQ(refusal(matrix, strategy), "read");
  EXPECT_EQ(refusal(R"([["A", "B", "C"], ["C", "D"]])", strategy),
            "m.json, shard_matrix, rank 1: the workload has no table 'D'");
  EXPECT_EQ(refusal(R"([["A", "B", "C"], ["C", "C"]])", strategy),
            "m.json, shard_matrix, rank 1: it holds table 'C' twice");
  EXPECT_EQ(refusal(R"([["A", "B", "C"], ["A"]])", strategy), "m.json: table 'C': a dp table must be on every rank");
  EXPECT_EQ(refusal(R"([["A", "C"], ["A", "C"]])", strategy),
            "m.json: table 'B': no rank of the shard_matrix holds it");
  EXPECT_EQ(refusal(matrix, R"([["mp", ["A"]], ["dp", ["C"]]])"), "m.json: table 'B': it is in no shard_strategy");
  EXPECT_EQ(refusal(matrix, R"([["mp", ["A", "B", "C"]], ["dp", ["C"]]])"),
            "m.json, shard_strategy 1, table 'C': it has a strategy already");
  EXPECT_EQ(refusal(matrix, R"([["mp", ["A", "B"]], ["dp", [["C", 2]]]])"),
            "m.json, shard_strategy 1, table 'C': a dp table has no column factor");
  EXPECT_EQ(refusal(matrix, R"([["mp", [["A", 3], "B"]], ["dp", ["C"]]])"),
            "m.json, shard_strategy 0, table 'A': column factor 3 does not divide its 4 columns");
  EXPECT_EQ(refusal(matrix, R"([["mp", [["A", 4], "B"]], ["dp", ["C"]]])"),
            "m.json: table 'A': column factor 4 does not divide the 2 ranks that hold it");
  EXPECT_EQ(refusal(matrix, R"([["mp", [["A", 0]]]])"),
            "m.json, shard_strategy 0: a table is \"name\" or [\"name\", column factor of at least 1]");
  EXPECT_EQ(refusal(matrix, R"([["sp", []]])"), "m.json, shard_strategy 0: must be [\"mp\" or \"dp\", [tables]]");
  EXPECT_EQ(refusal(matrix, R"([["mp", [3]]])"), "m.json, shard_strategy 0: a table's name must be a string");
  EXPECT_EQ(refusal("3", strategy), "m.json: 'shard_matrix' must be a list with an entry per rank");
  EXPECT_EQ(refusal("[3]", strategy), "m.json, shard_matrix, rank 0: must be a list of table names");
}

}  // namespace
}  // namespace shardmark::placement
