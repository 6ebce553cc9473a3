// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "comm/placement/formats/hugectr_groups.hpp"
#include "comm/placement/formats/hugectr_plan_file.hpp"
#include "comm/placement/plan_check.hpp"
#include "comm/placement/planner.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

using Json = nlohmann::json;

const Json& golden() {
  static const Json file = Json::parse(std::ifstream(SHARDMARK_TEST_DATA "/plan_examples.json"));
  return file;
}

/// The context of an entry, with what its spans point to.
struct Example {
  const Json& entry;
  std::vector<Table> tables;
  std::vector<Feature> lookups;
  std::vector<std::int64_t> id_spaces;

  explicit Example(const Json& e) : entry(e) {
    const Json& context = e["context"];
    for (const Json& table : context["tables"]) {
      const auto position = std::ssize(tables);
      id_spaces.push_back(table.value("id_space", position));
      tables.push_back({fmt::format("T{}", position),
                        table["rows"],
                        table["dim"],
                        {.kind = named<OptimizerKind>(table.value("optimizer", "sgd"))}});
    }
    for (const Json& lookup : context["lookups"])
      lookups.push_back({fmt::format("L{}", lookups.size()), lookup["table"],
                         named<Pooling>(lookup["pooling"].get<std::string>()), 1});
  }

  std::string name() const { return entry["name"]; }
  std::string text() const { return entry["plan"].dump(); }

  HugectrContext context() const {
    const Json& json = entry["context"];
    HugectrContext context{.tables = tables, .lookups = lookups, .ranks = json["ranks"].get<int>()};
    if (json.contains("bytes_per_rank")) context.bytes_per_rank = json["bytes_per_rank"].get<std::int64_t>();
    if (json.contains("global_batch")) context.global_batch = json["global_batch"].get<std::int64_t>();
    context.id_spaces = id_spaces;
    return context;
  }

  std::vector<HugectrProblem> problems() const { return check_hugectr_plan(text(), name(), context()); }
};

/// The first of HugeCTR's own rules that is broken; 0 when HugeCTR accepts.
int hugectr_verdict(const std::vector<HugectrProblem>& problems) {
  return !problems.empty() && problems.front().rule <= 12 ? problems.front().rule : 0;
}

bool matches(const HugectrProblem& problem, const Json& entry) {
  const Json& where = entry["where"];
  return problem.rule == entry["rule"] && problem.rank == where.value("rank", problem.rank) &&
         problem.group == where.value("group", problem.group) &&
         problem.lookup == where.value("lookup", problem.lookup) &&
         problem.table == where.value("table", problem.table);
}

std::string lines(const std::vector<HugectrProblem>& problems) {
  std::string text;
  for (const HugectrProblem& problem : problems) text += problem.line() + "\n";
  return text;
}

TEST(HugectrGolden, valid_plans_mean_the_expected_placements) {
  int seen = 0;
  for (const Json& entry : golden()["valid"]) {
    ++seen;
    const Example example(entry);
    SCOPED_TRACE(example.name());
    const Plan plan = plan_from_hugectr(example.text(), example.name(), "golden", example.context());
    EXPECT_EQ(plan.name, "golden");
    EXPECT_EQ(plan.ranks, entry["context"]["ranks"]);
    EXPECT_EQ(check(plan, example.tables), std::vector<std::string>());
    for (const Json& expect : entry["expect"]) {
      const Feature& lookup = example.lookups.at(expect["lookup"].get<std::size_t>());
      const Table& table = example.tables.at(static_cast<std::size_t>(lookup.table));
      const TablePlacement& placement = plan.tables.at(static_cast<std::size_t>(lookup.table));
      const std::vector<int> ranks = expect["ranks"];
      EXPECT_EQ(kind_of(placement), expect["placement"]);
      if (placement.data_parallel) continue;
      ASSERT_EQ(placement.shards.size(), ranks.size());
      for (std::size_t s = 0; s < ranks.size(); ++s)
        EXPECT_EQ(placement.shards[s],
                  (Shard{{static_cast<std::int64_t>(s), table.rows, std::ssize(ranks)}, 0, table.dim, ranks[s]}));
    }
  }
  EXPECT_EQ(seen, 9);
}

TEST(HugectrGolden, strict_verdict_on_valid_plans_is_hugectrs) {
  for (const Json& entry : golden()["valid"]) {
    const Example example(entry);
    SCOPED_TRACE(example.name());
    const auto problems = example.problems();
    EXPECT_EQ(problems.empty(), entry["hugectr"] == "accepts") << lines(problems);
    for (const HugectrProblem& problem : problems) EXPECT_TRUE(problem.only_hugectr);
  }
}

TEST(HugectrGolden, invalid_plans_break_the_rule_at_the_place) {
  int seen = 0;
  for (const Json& entry : golden()["invalid"]) {
    ++seen;
    const Example example(entry);
    SCOPED_TRACE(example.name());
    const auto problems = example.problems();
    const auto found = std::ranges::find_if(problems, [&](const auto& problem) { return matches(problem, entry); });
    ASSERT_NE(found, problems.end()) << lines(problems);
    EXPECT_EQ(found->only_hugectr, entry["kind"] == "hugectr_limit");
    const auto read = [&] { return plan_from_hugectr(example.text(), example.name(), "golden", example.context()); };
    if (found->only_hugectr) {
      EXPECT_EQ(check(read(), example.tables), std::vector<std::string>());
    } else {
      EXPECT_THROW(read(), InputError);
    }
  }
  EXPECT_EQ(seen, 27);
}

TEST(HugectrGolden, invalid_plans_get_hugectrs_verdict) {
  int decided = 0;
  for (const Json& entry : golden()["invalid"]) {
    const Example example(entry);
    SCOPED_TRACE(example.name());
    const auto problems = example.problems();
    const std::string verdict = entry["hugectr"];
    if (verdict == "accepts") {
      EXPECT_EQ(hugectr_verdict(problems), 0) << lines(problems);
    }
    if (verdict.starts_with("rejects")) {
      ++decided;
      EXPECT_EQ(fmt::format("rejects (rule {})", hugectr_verdict(problems)), verdict) << lines(problems);
    }
  }
  EXPECT_GE(decided, 15);
}

/// The workload of the notebook: one lookup per table.
struct Notebook {
  std::vector<Table> tables;
  std::vector<Feature> lookups;

  Notebook() {
    for (const Json& rows : golden()["generator"]["rows"]) {
      const auto number = tables.size();
      lookups.push_back({fmt::format("L{}", number), std::ssize(tables), Pooling::sum, 1});
      tables.push_back({fmt::format("T{}", number), rows, 128, {}});
    }
  }

  Plan plan(std::string_view planner, int ranks) const {
    return make_plan(planner, tables, lookups,
                     {.ranks = ranks, .replicate_rows = golden()["generator"]["threshold"].get<std::int64_t>()});
  }
};

TEST(HugectrGolden, mixed_planner_writes_the_lists_of_the_notebook) {
  const Notebook notebook;
  const Json& generator = golden()["generator"];
  const Json file = Json::parse(plan_to_hugectr(notebook.plan("data_parallel+table_wise", 8), notebook.tables,
                                                notebook.lookups, hugectr_spellings[1]));
  ASSERT_EQ(file.size(), 8U);
  for (std::size_t rank = 0; rank < 8; ++rank) {
    ASSERT_EQ(file[rank].size(), 2U);
    EXPECT_EQ(file[rank][0]["table_placement_strategy"], "mp");
    EXPECT_EQ(file[rank][0]["local_embedding_list"], generator["mp_lists_8_ranks"][rank]);
    EXPECT_EQ(file[rank][0]["global_embedding_list"], generator["mp_lists_8_ranks"]);
    EXPECT_EQ(file[rank][1]["table_placement_strategy"], "dp");
    EXPECT_EQ(file[rank][1]["local_embedding_list"], generator["dp_list"]);
    EXPECT_EQ(file[rank][1]["global_embedding_list"], Json(std::vector<Json>(8, generator["dp_list"])));
  }
}

TEST(HugectrGolden, mixed_planner_gets_hugectrs_verdict_by_rank_count) {
  const Notebook notebook;
  for (const Json& expected : golden()["generator"]["by_ranks"]) {
    const int ranks = expected["ranks"];
    SCOPED_TRACE(ranks);
    const Plan plan = notebook.plan("data_parallel+table_wise", ranks);
    const std::string text = plan_to_hugectr(plan, notebook.tables, notebook.lookups, hugectr_spellings[1]);
    const auto problems = check_hugectr_plan(text, "memory", {.tables = notebook.tables, .lookups = notebook.lookups});
    EXPECT_EQ(problems.empty() ? "accepts" : fmt::format("rejects (rule {})", problems.front().rule),
              expected["hugectr"]);
    const Json file = Json::parse(text);
    const auto idle =
        std::ranges::count_if(file, [](const Json& groups) { return groups[0]["local_embedding_list"].empty(); });
    EXPECT_EQ(idle, expected["idle_ranks_in_mp"].get<std::int64_t>());
    EXPECT_EQ(plan_from_hugectr(text, "memory", plan.name, {.tables = notebook.tables, .lookups = notebook.lookups}),
              plan);
  }
}

TEST(HugectrGolden, row_wise_planner_writes_the_distributed_plan_of_the_notebook) {
  const Notebook notebook;
  const Json file = Json::parse(
      plan_to_hugectr(notebook.plan("row_wise", 8), notebook.tables, notebook.lookups, hugectr_spellings[1]));
  Json all = Json::array();
  for (int lookup = 0; lookup < 26; ++lookup) all.push_back(lookup);
  for (int rank = 0; rank < 8; ++rank) {
    const Json expected{{"local_embedding_list", all},
                        {"global_embedding_list", std::vector<Json>(8, all)},
                        {"table_placement_strategy", "mp"},
                        {"num_sharding", 8},
                        {"sharding_id", rank}};
    EXPECT_EQ(file.at(static_cast<std::size_t>(rank)), Json::array({expected}));
  }
}

}  // namespace
}  // namespace shardmark::placement
