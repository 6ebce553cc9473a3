// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "comm/placement/formats/plan_file.hpp"
#include "comm/placement/named_plan.hpp"
#include "comm/placement/plan_check.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/test/random_plan.hpp"
#include "comm/placement/test/random_tables.hpp"
#include "reference/error.hpp"
#include "reference/output_file.hpp"

namespace shardmark::placement {
namespace {

const std::vector<Table> two_tables{{"A", 10, 4, {}}, {"B", 7, 2, {}}};
const std::vector<Feature> two_features{{"a", 0, Pooling::sum, 1}, {"b", 1, Pooling::sum, 1}};

TEST(PlanJson, is_written_as_documented) {
  const Plan plan{"hand", 2, {{true, {}}, {false, {{{0, 7, 2}, 0, 2, 1}, {{1, 7, 2}, 0, 2, 0}}}}};
  EXPECT_EQ(plan_to_json(plan, two_tables), R"({"format":"shardmark-plan/1","name":"hand","ranks":2,"tables":[
  {"name":"A","data_parallel":true},
  {"name":"B","shards":[
    {"rows":[0,7,2],"columns":[0,2],"rank":1},
    {"rows":[1,7,2],"columns":[0,2],"rank":0}]}
]}
)");
}

TEST(PlanJson, hot_rows_and_storage_are_written_where_they_are_said) {
  const Plan plan{"hand",
                  2,
                  {{.data_parallel = true, .shards = {}, .storage = Storage::tt},
                   {false, {{{3, 7, 1}, 0, 2, 1}}, 3, Storage::dense}}};
  const std::string text = plan_to_json(plan, two_tables);
  EXPECT_EQ(text, R"({"format":"shardmark-plan/1","name":"hand","ranks":2,"tables":[
  {"name":"A","storage":"tt","data_parallel":true},
  {"name":"B","storage":"dense","hot_rows":3,"shards":[
    {"rows":[3,7,1],"columns":[0,2],"rank":1}]}
]}
)");
  EXPECT_EQ(plan_from_json(text, "memory", two_tables), plan);
}

/// The digest stands for the placements: neither name nor order change it, any other rank, row or key does.
TEST(PlanJson, digests_tell_plans_apart) {
  const Plan plan{"search", 2, {{true, {}}, {false, {{{0, 7, 2}, 0, 2, 1}, {{1, 7, 2}, 0, 2, 0}}}}};
  const std::string digest = plan_digest(plan, two_tables);
  EXPECT_EQ(digest.size(), 16U);
  Plan same = plan;
  same.name = "other";
  std::swap(same.tables[1].shards[0], same.tables[1].shards[1]);
  EXPECT_EQ(plan_digest(same, two_tables), digest);
  const std::vector<Table> swapped{two_tables[1], two_tables[0]};
  EXPECT_EQ(plan_digest({"search", 2, {plan.tables[1], plan.tables[0]}}, swapped), digest);
  std::vector<Plan> others(4, plan);
  others[0].tables[1].shards[0].rank = 0;
  others[1].tables[1].hot_rows = 1;
  others[2].tables[0].storage = Storage::tt;
  others[3].ranks = 3;
  for (const Plan& other : others) EXPECT_NE(plan_digest(other, two_tables), digest);
}

TEST(PlanJson, round_trip_keeps_random_plans) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    std::mt19937_64 of_plan(seed);
    const RandomTables workload(random);
    const Plan plan = random_plan(workload.tables, static_cast<int>(seed % 9) + 1, of_plan);
    EXPECT_EQ(check(plan, workload.tables), std::vector<std::string>());
    EXPECT_EQ(plan_from_json(plan_to_json(plan, workload.tables), "memory", workload.tables), plan);
  }
}

TEST(PlanJson, round_trip_keeps_every_plan) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    RandomTables workload(random);
    for (const Planner& planner : planners) {
      if (planner.name == "search" && seed % 20 > 0) continue;
      const Plan plan = make_plan(planner.name, workload.tables, workload.features,
                                  {.ranks = static_cast<int>(seed % 9) + 1, .replicate_rows = 10});
      EXPECT_EQ(plan_from_json(plan_to_json(plan, workload.tables), "memory", workload.tables), plan);
    }
  }
}

TEST(PlanJson, tables_are_matched_by_name) {
  const std::string text = R"({"tables": [{"name": "B", "data_parallel": true},
    {"shards": [{"rank": 0, "columns": [0, 4], "rows": [0, 10, 1]}], "name": "A"}],
    "ranks": 1, "name": "swapped", "format": "shardmark-plan/1"})";
  const Plan expected{"swapped", 1, {{false, {{{0, 10, 1}, 0, 4, 0}}}, {true, {}}}};
  EXPECT_EQ(plan_from_json(text, "memory", two_tables), expected);
}

TEST(PlanJson, odd_names_survive) {
  const std::vector<Table> tables{{"quote \" slash \\ \xC3\xA9", 3, 1, {}}};
  const Plan plan{"new\nline", 1, {{true, {}}}};
  EXPECT_EQ(plan_from_json(plan_to_json(plan, tables), "memory", tables), plan);
}

/// `tables` is the value of the key of the same name.
std::string document(const std::string& tables) {
  return R"({"format": "shardmark-plan/1", "name": "p", "ranks": 1, "tables": )" + tables + "}";
}

struct RefusedText {
  std::string text;
  std::string message;  ///< part of it
};

TEST(PlanJson, refuses_and_names_what_is_wrong) {
  const std::string b = R"({"name": "B", "data_parallel": true})";
  const std::vector<RefusedText> cases{
      {"{", "p.json:1:2: not valid JSON"},
      {"", "p.json:1:1: not valid JSON"},
      {"3", "p.json: expected a JSON object"},
      {R"({"name": "p", "ranks": 1, "tables": []})", "p.json: key 'format' is missing"},
      {R"({"format": "shardmark-plan/2", "name": "p", "ranks": 1, "tables": []})", "p.json: format 'shardmark-plan/2'"},
      {R"({"format": "shardmark-plan/1", "name": "p", "ranks": 1.0, "tables": []})",
       "p.json: 'ranks' must be an integer"},
      {R"({"format": "shardmark-plan/1", "name": "p", "ranks": 4294967297, "tables": []})",
       "'ranks' must be an integer"},
      {R"({"format": "shardmark-plan/1", "name": 1, "ranks": 1, "tables": []})", "p.json: 'name' must be a string"},
      {R"({"format": "shardmark-plan/1", "name": "p", "ranks": 1, "tables": [], "rank": 1})",
       "p.json: unknown key 'rank'"},
      {R"({"format": "shardmark-plan/1", "name": "p", "ranks": 1, "ranks": 2, "tables": []})",
       "key \"ranks\" comes twice"},
      {document("{}"), "p.json: 'tables' must be a list"},
      {document("[" + b + "]"), "p.json: table 'A' is missing"},
      {document("[" + b + "," + b + "]"),
       "p.json, table 1 'B': the workload has no such table, or the plan places it twice"},
      {document(R"([{"name": "C", "data_parallel": true}])"), "p.json, table 0 'C': the workload has no such table"},
      {document(R"([{"name": "A", "hot_rows": 1.5, "shards": []}])"),
       "p.json, table 'A': 'hot_rows' must be an integer"},
      {document(R"([{"name": "A", "storage": 1, "shards": []}])"), "p.json, table 'A': 'storage' must be a string"},
      {document(R"([{"name": "A", "storage": "tensor", "shards": []}])"),
       "unknown p.json, table 'A': storage 'tensor'; valid: dense, tt"},
      {document(R"([{"data_parallel": true}])"), "p.json, table 0: key 'name' is missing"},
      {document("[7]"), "p.json, table 0: expected a JSON object"},
      {document(R"([{"name": "A"}])"), "p.json, table 'A': give either"},
      {document(R"([{"name": "A", "data_parallel": true, "shards": []}])"), "p.json, table 'A': give either"},
      {document(R"([{"name": "A", "data_parallel": false}])"), "p.json, table 'A': 'data_parallel' can only be true"},
      {document(R"([{"name": "A", "shards": 3}])"), "p.json, table 'A': 'shards' must be a list"},
      {document(R"([{"name": "A", "dp": true}])"), "p.json, table 'A': unknown key 'dp'"},
      {document(R"([{"name": "A", "shards": [{"rows": [0, 10], "columns": [0, 4], "rank": 0}]}])"),
       "p.json, table 'A', shard 0: 'rows' must be a list of 3 integers"},
      {document(R"([{"name": "A", "shards": [{"rows": [0, 10, 1], "columns": [0, 4.5], "rank": 0}]}])"),
       "p.json, table 'A', shard 0: 'columns' must be a list of 2 integers"},
      {document(
           R"([{"name": "A", "shards": [{"rows": [0, 10, 18446744073709551615], "columns": [0, 4], "rank": 0}]}])"),
       "p.json, table 'A', shard 0: 'rows' must be a list of 3 integers"},
      {document(R"([{"name": "A", "shards": [{"rows": [0, 10, 1], "columns": [0, 4]}]}])"),
       "p.json, table 'A', shard 0: key 'rank' is missing"},
      {document(R"([{"name": "A", "shards": [{"rows": [0, 10, 1], "columns": [0, 4], "rank": 0, "x": 1}]}])"),
       "p.json, table 'A', shard 0: unknown key 'x'"},
  };
  for (const RefusedText& refused : cases) {
    SCOPED_TRACE(refused.text);
    try {
      plan_from_json(refused.text, "p.json", two_tables);
      ADD_FAILURE() << "did not throw";
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find(refused.message), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }
}

class PlanFile : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

 private:
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "shardmark_plan_file";
};

TEST_F(PlanFile, every_format_is_read_back) {
  const Plan plan = make_plan("data_parallel+table_wise", two_tables, two_features, {.ranks = 3, .replicate_rows = 9});
  for (const PlanFormat& format : plan_formats) {
    SCOPED_TRACE(format.name);
    write_file(path(plan.name + ".json"), format.text(plan, two_tables, two_features));
    EXPECT_EQ(read_plan(path(plan.name + ".json"), two_tables, two_features), plan);
    EXPECT_EQ(check_plan_file(path(plan.name + ".json"), {two_tables, two_features, 3}), std::vector<std::string>());
    EXPECT_FALSE(std::filesystem::exists(path(plan.name + ".json.partial")));
  }
}

TEST_F(PlanFile, refuses_what_cannot_be_read_written_or_run) {
  EXPECT_THROW(read_plan(path("absent.json"), two_tables, two_features), InputError);
  EXPECT_THROW(read_plan(path(""), two_tables, two_features), InputError);
  EXPECT_THROW(write_file(path("absent/p.json"), "{}"), InputError);
  EXPECT_THROW(write_file(path(""), "{}"), InputError);
  write_file(path("half.json"), document(R"([{"name": "A", "data_parallel": true}, {"name": "B", "shards": []}])"));
  try {
    read_plan(path("half.json"), two_tables, two_features);
    FAIL() << "did not throw";
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), path("half.json") + ": table 'B', columns 0 to 2: row 0 is on no rank");
  }
}

TEST_F(PlanFile, named_plan_takes_planners_and_files) {
  const Plan plan = make_plan("row_wise", two_tables, two_features, {.ranks = 3});
  EXPECT_EQ(named_plan("row_wise", two_tables, two_features, {.ranks = 3}), plan);
  write_file(path("p.json"), plan_to_json(plan, two_tables));
  EXPECT_EQ(named_plan(path("p.json"), two_tables, two_features, {.ranks = 3}), plan);
  const auto message = [&](const std::string& name) -> std::string {
    try {
      named_plan(name, two_tables, two_features, {.ranks = 4});
      return "did not throw";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message(path("p.json")), path("p.json") + ": the plan is for 3 ranks, the job has 4");
  std::string names;
  for (const Planner& planner : planners) names += (names.empty() ? "" : ", ") + std::string(planner.name);
  EXPECT_EQ(message("rowwise"),
            "plan 'rowwise' is neither a file nor a planner; did you mean 'row_wise'? planners: " + names);
}

TEST_F(PlanFile, check_lists_all_problems) {
  write_file(path("p.json"), document(R"([{"name": "A", "shards": []}, {"name": "B", "shards": []}])"));
  EXPECT_EQ(check_plan_file(path("p.json"), {two_tables, two_features}).size(), 2U);

  const Plan plan = make_plan("table_wise", two_tables, two_features, {.ranks = 2});
  write_file(path("p.json"), plan_to_json(plan, two_tables));
  EXPECT_TRUE(check_plan_file(path("p.json"), {two_tables, two_features}).empty());
  const auto problems = check_plan_file(
      path("p.json"),
      {.tables = two_tables, .features = two_features, .ranks = 3, .bytes_per_rank = 100, .global_batch = 7});
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_EQ(problems[0], path("p.json") + ": the plan is for 2 ranks, the job has 3");
  EXPECT_EQ(problems[1], path("p.json") + ": the global batch of 7 does not divide by 2 ranks");
  EXPECT_EQ(problems[2], path("p.json") +
                             ": rank 0 needs 160 bytes of memory, 60 bytes more than it has; no other rank has "
                             "room for a table of it; split its largest, A, 160 bytes, or use more ranks");
}

TEST_F(PlanFile, check_tells_what_hugectr_cannot_do) {
  const auto strict = [&](std::string_view planner, int ranks) {
    const Plan plan = make_plan(planner, two_tables, two_features, {.ranks = ranks});
    write_file(path("p.json"), plan_to_json(plan, two_tables));
    return check_plan_file(path("p.json"), {.tables = two_tables, .features = two_features, .hugectr_limits = true});
  };
  EXPECT_TRUE(strict("row_wise", 4).empty());
  EXPECT_TRUE(strict("table_wise", 3).empty());  // one idle rank
  const auto idle = strict("table_wise", 4);     // two
  ASSERT_EQ(idle.size(), 1U);
  EXPECT_NE(idle[0].find("rule 10 (HugeCTR only)"), std::string::npos) << idle[0];
  const auto columns = strict("column_wise", 2);
  ASSERT_EQ(columns.size(), 1U);
  EXPECT_NE(columns[0].find("table 'A': a HugeCTR plan file cannot express columns"), std::string::npos) << columns[0];
}

}  // namespace
}  // namespace shardmark::placement
