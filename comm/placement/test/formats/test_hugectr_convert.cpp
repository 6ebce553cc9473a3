// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "comm/placement/formats/hugectr_plan_file.hpp"
#include "comm/placement/plan_check.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/test/random_tables.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

/// Each table data_parallel, or split modulo 1 .. ranks over random distinct ranks; without empty shards.
Plan random_modulo_plan(const std::vector<Table>& tables, int ranks, std::mt19937& random) {
  Plan plan{"random", ranks, {}};
  std::vector<int> order(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) order[rank] = rank;
  for (const Table& table : tables) {
    const int count = std::uniform_int_distribution(0, ranks)(random);
    TablePlacement placement{.data_parallel = count == 0, .shards = {}};
    std::ranges::shuffle(order, random);
    for (std::int64_t shard = 0; shard < std::min<std::int64_t>(count, table.rows); ++shard)
      placement.shards.push_back({{shard, table.rows, count}, 0, table.dim, order[shard]});
    plan.tables.push_back(std::move(placement));
  }
  return plan;
}

TEST(HugectrConvert, round_trip_keeps_modulo_plans_in_every_spelling) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const RandomTables workload(random);
    const Plan plan = random_modulo_plan(workload.tables, static_cast<int>(seed % 9) + 1, random);
    ASSERT_EQ(check(plan, workload.tables), std::vector<std::string>());
    for (const HugectrSpelling& spelling : hugectr_spellings) {
      const std::string text = plan_to_hugectr(plan, workload.tables, workload.features, spelling);
      EXPECT_EQ(plan_from_hugectr(text, "memory", "random",
                                  {.tables = workload.tables, .lookups = workload.features, .ranks = plan.ranks}),
                plan)
          << text;
    }
  }
}

TEST(HugectrConvert, lookups_of_disjoint_ranks_share_a_group) {
  const std::vector<Table> tables{{"A", 9, 4, {}}, {"B", 9, 4, {}}, {"C", 9, 4, {}}};
  const std::vector<Feature> lookups{{"a", 0}, {"b", 1}, {"c", 2}, {"a2", 0}};
  const Plan plan{"p",
                  3,
                  {{false, {{{0, 9, 2}, 0, 4, 2}, {{1, 9, 2}, 0, 4, 0}}},
                   {false, {{{0, 9, 1}, 0, 4, 1}}},
                   {false, {{{0, 9, 1}, 0, 4, 0}}}}};
  EXPECT_EQ(nlohmann::json::parse(plan_to_hugectr(plan, tables, lookups, hugectr_spellings[2])),
            nlohmann::json::parse(R"(
  [[{"local_embedding_list": [0, 3], "global_embedding_list": [[0, 3], [1], [0, 3]], "table_placement_strategy": "mp",
     "shards_count": 2, "shard_id": 1},
    {"local_embedding_list": [2], "global_embedding_list": [[2], [], []], "table_placement_strategy": "mp"}],
   [{"local_embedding_list": [1], "global_embedding_list": [[0, 3], [1], [0, 3]], "table_placement_strategy": "mp"},
    {"local_embedding_list": [], "global_embedding_list": [[2], [], []], "table_placement_strategy": "mp"}],
   [{"local_embedding_list": [0, 3], "global_embedding_list": [[0, 3], [1], [0, 3]], "table_placement_strategy": "mp",
     "shards_count": 2, "shard_id": 0},
    {"local_embedding_list": [], "global_embedding_list": [[2], [], []], "table_placement_strategy": "mp"}]])"));
}

struct RefusedShards {
  std::vector<Shard> shards;
  std::string message;
};

TEST(HugectrConvert, what_cannot_be_expressed_is_refused_by_name) {
  const std::vector<Table> tables{{"A", 9, 4, {}}};
  const std::vector<Feature> lookups{{"a", 0}};
  const std::vector<RefusedShards> cases{
      {{{{0, 9, 1}, 0, 2, 0}, {{0, 9, 1}, 2, 4, 1}}, "columns 0 to 2 on rank 0: it has no column split"},
      {{{{0, 5, 1}, 0, 4, 0}, {{5, 9, 1}, 0, 4, 1}},
       "rows 0 to 5, stride 1, on rank 0: it splits rows modulo a count only"},
      {{{{0, 9, 2}, 0, 4, 0}, {{1, 9, 2}, 0, 4, 0}}, "two shards of one table on rank 0"},
      {{{{0, 9, 4}, 0, 4, 0}, {{1, 9, 4}, 0, 4, 1}, {{2, 9, 4}, 0, 4, 2}, {{3, 9, 4}, 0, 4, 0}},
       "a split modulo 4 over 3 ranks: each shard needs a rank of its own"},
      {{{{0, 9, 2}, 0, 4, 0}, {{1, 5, 2}, 0, 4, 1}, {{5, 9, 2}, 0, 4, 2}},
       "rows 1 to 5, stride 2, on rank 1: it splits rows modulo a count only"},
  };
  for (const RefusedShards& refused : cases) {
    SCOPED_TRACE(refused.message);
    const Plan plan{"p", 3, {{false, refused.shards}}};
    ASSERT_EQ(check(plan, tables), std::vector<std::string>());
    try {
      plan_to_hugectr(plan, tables, lookups, hugectr_spellings[0]);
      ADD_FAILURE() << "did not throw";
    } catch (const InputError& error) {
      EXPECT_EQ(error.what(), "table 'A': a HugeCTR plan file cannot express " + refused.message);
    }
  }
  EXPECT_THROW(plan_to_hugectr({"p", 3, {{true, {}}}}, tables, {}, hugectr_spellings[0]), InputError);
}

TEST(HugectrConvert, hot_rows_and_storage_are_refused_by_name) {
  const std::vector<Table> tables{{"A", 9, 4, {}}};
  const std::vector<Feature> lookups{{"a", 0}};
  const auto refusal = [&](const TablePlacement& placement) -> std::string {
    try {
      return plan_to_hugectr({"p", 3, {placement}}, tables, lookups, hugectr_spellings[0]);
    } catch (const InputError& error) {
      return error.what();
    }
  };
  const std::string words = "table 'A': a HugeCTR plan file cannot express ";
  EXPECT_EQ(refusal({false, {{{2, 9, 1}, 0, 4, 0}}, 2}),
            words + "copies of its first 2 rows on every rank; place it without hot rows");
  EXPECT_EQ(refusal({.data_parallel = true, .shards = {}, .storage = Storage::tt}),
            words + "its storage, tt; leave it as the workload says");
}

std::vector<HugectrProblem> problems_of(const std::string& text) {
  static const std::vector<Table> tables{{"A", 9, 4, {}}};
  static const std::vector<Feature> lookups{{"a", 0}};
  return check_hugectr_plan(text, "p.json", {.tables = tables, .lookups = lookups});
}

std::string first_line(const std::string& text) {
  const auto problems = problems_of(text);
  return problems.empty() ? "" : problems.front().line();
}

TEST(HugectrConvert, wrong_types_are_rule_1) {
  const auto group = [](const std::string& keys) {
    return R"([[{"local_embedding_list": [0], "global_embedding_list": [[0]], "table_placement_strategy": "mp")" +
           keys + "}]]";
  };
  EXPECT_EQ(first_line(group("")), "");
  EXPECT_EQ(first_line(group(R"(, "hot": 1)")), "");  // HugeCTR ignores unknown keys
  EXPECT_EQ(first_line(group(R"(, "shard_id": "0")")), "rule 1: rank 0, group 0: 'shard_id' must be an integer");
  EXPECT_EQ(first_line("[3]"), "rule 1: rank 0: must be a list of groups");
  EXPECT_EQ(first_line("[[3]]"), "rule 1: rank 0, group 0: a group must be a JSON object");
  EXPECT_EQ(first_line(
                R"([[{"local_embedding_list": 0, "global_embedding_list": [[0]], "table_placement_strategy": "mp"}]])"),
            "rule 1: rank 0, group 0: 'local_embedding_list' must be a list of integers");
  EXPECT_EQ(first_line(
                R"([[{"local_embedding_list": [0], "global_embedding_list": [0], "table_placement_strategy": "mp"}]])"),
            "rule 1: rank 0, group 0: 'global_embedding_list' must be a list of lists of integers");
  EXPECT_EQ(
      first_line(R"([[{"local_embedding_list": [0], "global_embedding_list": [[0]], "table_placement_strategy": 1}]])"),
      "rule 1: rank 0, group 0: 'table_placement_strategy' must be a string");
  EXPECT_EQ(first_line(R"([[{"local_embedding_list": [0], "global_embedding_list": [[0]]}]])"),
            "rule 1: rank 0, group 0: key 'table_placement_strategy' is missing");
  EXPECT_EQ(first_line("[]"), "rule 14: the file has no entry; give one per rank");
  EXPECT_EQ(first_line("[[]]"), "rule 16: lookup 0: 'a' is in no group");
  EXPECT_THROW(problems_of("{}"), InputError);
  EXPECT_THROW(problems_of("[["), InputError);
}

TEST(HugectrConvert, localized_with_the_keys_of_v38_mixes_spellings) {
  EXPECT_EQ(problems_of(R"([[{"local_embedding_list": [0], "global_embedding_list": [[0]],
                              "table_placement_strategy": "localized", "shards_count": 1}]])")
                .front()
                .rule,
            20);
}

TEST(HugectrConvert, tables_without_lookup_cannot_be_placed) {
  const std::vector<Table> tables{{"A", 9, 4, {}}, {"B", 9, 4, {}}};
  const std::vector<Feature> lookups{{"a", 0}};
  const std::string text =
      R"([[{"local_embedding_list": [0], "global_embedding_list": [[0]], "table_placement_strategy": "mp"}]])";
  const auto problems = check_hugectr_plan(text, "p.json", {.tables = tables, .lookups = lookups});
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].line(), "rule 16: table 1: 'B' has no lookup, so that no entry places it");
}

TEST(HugectrConvert, v37_has_sgd_only) {
  const std::vector<Table> tables{{"A", 9, 4, {.kind = OptimizerKind::adagrad}}};
  const std::vector<Feature> lookups{{"a", 0}};
  for (const HugectrSpelling& spelling : hugectr_spellings) {
    const Plan plan{"p", 1, {{false, {whole(tables[0], 0)}}}};
    const auto problems = check_hugectr_plan(plan_to_hugectr(plan, tables, lookups, spelling), "p.json",
                                             {.tables = tables, .lookups = lookups});
    EXPECT_EQ(problems.size(), spelling.name == "hugectr-v3.7" ? 1U : 0U) << spelling.name;
    for (const HugectrProblem& problem : problems) {
      EXPECT_EQ(problem.rule, 12);
      EXPECT_TRUE(problem.only_hugectr);
    }
  }
}

/// Whatever happens to a valid file, it is refused with a rule or still means a sound plan.
TEST(HugectrConvert, random_damage_never_gets_through) {
  std::int64_t refused = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const auto draw = [&](std::size_t size) { return std::uniform_int_distribution<std::size_t>(0, size - 1)(random); };
    const RandomTables workload(random);
    const Plan plan = random_modulo_plan(workload.tables, static_cast<int>(seed % 4) + 1, random);
    auto file = nlohmann::json::parse(plan_to_hugectr(plan, workload.tables, workload.features, hugectr_spellings[1]));
    auto& group = file[draw(file.size())][0];
    auto& local = group["local_embedding_list"];
    switch (draw(6)) {
      case 0:
        local.push_back(draw(workload.features.size() + 1));
        break;
      case 1:
        local.clear();
        break;
      case 2:
        group["num_sharding"] = draw(4);
        break;
      case 3:
        group["sharding_id"] = static_cast<int>(draw(4)) - 1;
        break;
      case 4:
        group["table_placement_strategy"] = draw(2) == 0 ? "dp" : "mp";
        break;
      default:
        file.erase(draw(file.size()));
        break;
    }
    try {
      const Plan read =
          plan_from_hugectr(file.dump(), "memory", "random",
                            {.tables = workload.tables, .lookups = workload.features, .ranks = plan.ranks});
      EXPECT_EQ(check(read, workload.tables), std::vector<std::string>()) << file;
    } catch (const InputError& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find("memory: rule "), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace shardmark::placement
