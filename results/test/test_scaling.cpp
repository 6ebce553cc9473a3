// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "results/scaling.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

/// A launch on so many ranks of each of so many nodes, whose cases take so long.
struct SampleLaunch {
  std::string name;
  nlohmann::ordered_json environment = sample_environment();
  std::vector<CaseRecord> cases;

  SampleLaunch(std::string file, std::int64_t nodes, std::int64_t ranks, std::int64_t batch,
               const std::vector<std::pair<std::string, double>>& plans)
      : name(std::move(file)) {
    environment["ranks"] = nlohmann::ordered_json::array();
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      environment["ranks"].push_back({{"rank", rank}, {"host", "node" + std::to_string(rank % nodes)}});
    for (const auto& [plan, ms] : plans) {
      CaseRecord& record = cases.emplace_back(sample_case(plan, ms));
      record.ranks = ranks;
      record.options["batch"] = batch;
      record.samples_per_s = samples_per_second(batch, ms);
    }
  }
  Report report() const { return {environment, cases, name}; }
};

std::vector<Report> reports_of(const std::vector<SampleLaunch>& launches) {
  std::vector<Report> reports;
  for (const SampleLaunch& launch : launches) reports.push_back(launch.report());
  return reports;
}

TEST(ScalingTable, IsOfTheBestCaseOfEachPlanAgainstTheFewestRanks) {
  std::vector<SampleLaunch> launches{
      {"4.jsonl", 2, 4, 16384, {{"table_wise", 4.0}, {"row_wise", 10.0}, {"row_wise", 8.0}}},
      {"1.jsonl", 1, 1, 16384, {{"table_wise", 10.0}, {"row_wise", 12.0}}},
      {"2.jsonl", 1, 2, 16384, {{"table_wise", 5.0}, {"row_wise", 10.0}}}};
  launches[0].cases[2].options["exchange"] = "pairwise";
  const auto reports = reports_of(launches);
  const auto table = scaling_of(reports, false);
  ASSERT_TRUE(table.has_value());
  EXPECT_TRUE(table->differing.empty()) << table->differing.front();
  EXPECT_EQ(table->scaling, Scaling::strong);
  ASSERT_EQ(table->rows.size(), 6U);
  const auto is = [&](std::size_t row, const char* plan, std::int64_t ranks, std::int64_t nodes, double ms,
                      double speedup, double efficiency) {
    const ScalingRow& r = table->rows[row];
    EXPECT_EQ(r.record->plan, plan) << row;
    EXPECT_EQ(r.record->ranks, ranks) << row;
    EXPECT_EQ(r.nodes, nodes) << row;
    EXPECT_DOUBLE_EQ(r.median, ms) << row;
    EXPECT_DOUBLE_EQ(r.speedup, speedup) << row;
    EXPECT_DOUBLE_EQ(r.efficiency, efficiency) << row;
  };
  is(0, "table_wise", 1, 1, 10.0, 1.0, 1.0);
  is(1, "table_wise", 2, 1, 5.0, 2.0, 1.0);
  is(2, "table_wise", 4, 2, 4.0, 2.5, 0.625);
  is(3, "row_wise", 1, 1, 12.0, 1.0, 1.0);
  is(5, "row_wise", 4, 2, 8.0, 1.5, 0.375);
  EXPECT_EQ(scaling_of(reports, true)->rows.size(), 7U);

  const std::string text = as_text(reports, {});
  EXPECT_NE(text.find("strong scaling: 16384 samples a step on any number of ranks"), text.npos) << text;
  EXPECT_NE(
      text.find("table_wise  mpi_alltoallv      4     2       4096 4.000 [3.750, 4.250] 4,096,000     2.50       62 %"),
      text.npos)
      << text;
  EXPECT_NE(text.find("ANSWER: On 4 ranks of 2 nodes the fastest plan is table_wise: 4.000 ms"), text.npos) << text;
  EXPECT_TRUE(text.ends_with("RESULT: VALID\n")) << text;
  EXPECT_NE(as_markdown(reports, {}).find("| table_wise | mpi_alltoallv | 4 | 2 | 4096 | 4.000 |"), text.npos);
  const auto json = nlohmann::json::parse(as_json(reports, {}));
  ASSERT_EQ(json.size(), 4U);
  EXPECT_EQ(json[3]["scaling"], "strong");
  EXPECT_EQ(json[3]["rows"][2]["efficiency"], 0.625);
  EXPECT_EQ(json[3]["rows"][2]["samples_per_s"]["low"], 1e3 * 16384 / 4.25);
}

TEST(ScalingTable, EndsWithTheGravestVerdict) {
  std::vector<SampleLaunch> launches{{"1", 1, 1, 1024, {{"table_wise", 10.0}}},
                                     {"2", 1, 2, 1024, {{"table_wise", 5.0}}},
                                     {"4", 1, 4, 1024, {{"table_wise", 2.5}}}};
  for (const std::size_t i : {0, 1})
    launches[i].cases[0].details["conditions"] = {{"seconds", {1.0, 1.0}},
                                                  {"switches", {9, 9}},
                                                  {"others_cpu_seconds", {0.5, 0.5}},
                                                  {"stolen_seconds", {0.0, 0.0}},
                                                  {"disturbed_visits", 2}};
  const auto ends_with = [&](const std::string& line) {
    const std::string text = as_text(reports_of(launches), {});
    EXPECT_TRUE(text.ends_with(line + '\n')) << text;
  };
  ends_with("RESULT: VALID, DISTURBED in 2 of 3 files, first 1");
  launches[2].cases[0].wrong = 7;
  ends_with(
      "RESULT: INVALID (wrong values in 1 of 1 cases, first table_wise dense_partials mpi_alltoallv: 7 wrong) in 4");
}

TEST(ScalingTable, SaysWhetherTheBatchGrowsWithTheRanks) {
  const auto scaling = [](std::int64_t batch_of_two) {
    const std::vector<SampleLaunch> launches{{"1", 1, 1, 1024, {{"table_wise", 10.0}}},
                                             {"2", 2, 2, batch_of_two, {{"table_wise", 12.5}}}};
    return scaling_of(reports_of(launches), false)->scaling;
  };
  EXPECT_EQ(scaling(1024), Scaling::strong);
  EXPECT_EQ(scaling(2048), Scaling::weak);
  EXPECT_EQ(scaling(1536), Scaling::neither);
  const std::vector<SampleLaunch> weak{{"1", 1, 1, 1024, {{"table_wise", 10.0}}},
                                       {"2", 2, 2, 2048, {{"table_wise", 12.5}}}};
  const auto table = scaling_of(reports_of(weak), false);
  EXPECT_DOUBLE_EQ(table->rows[1].speedup, 1.6);
  EXPECT_DOUBLE_EQ(table->rows[1].efficiency, 0.8);
}

TEST(ScalingTable, JoinsLaunchesOfOneSize) {
  const std::vector<SampleLaunch> launches{{"1", 1, 1, 1024, {{"table_wise", 10.0}}},
                                           {"2a", 1, 2, 1024, {{"table_wise", 6.0}}},
                                           {"2b", 1, 2, 1024, {{"table_wise", 7.0}}}};
  const auto table = scaling_of(reports_of(launches), false);
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_EQ(table->rows[1].launches, 2);
  EXPECT_DOUBLE_EQ(table->rows[1].median, 6.5);
  EXPECT_DOUBLE_EQ(table->rows[1].low, 5.75);
  EXPECT_DOUBLE_EQ(table->rows[1].high, 7.25);
}

TEST(ScalingTable, IsNoneOfLaunchesOfOneSizeOrOfWhatDiffersElse) {
  std::vector<SampleLaunch> launches{{"a", 1, 2, 1024, {{"table_wise", 10.0}}},
                                     {"b", 1, 2, 1024, {{"table_wise", 11.0}}}};
  EXPECT_FALSE(scaling_of(reports_of(launches), false).has_value());
  launches[1] = {"b", 2, 2, 1024, {{"table_wise", 11.0}}};
  EXPECT_TRUE(scaling_of(reports_of(launches), false)->differing.empty());
  launches[1].cases[0].options["scale"] = 1;
  launches[1].environment["build"]["flags"] = "-O0";
  const auto table = scaling_of(reports_of(launches), false);
  EXPECT_TRUE(table->rows.empty());
  EXPECT_EQ(table->differing, (std::vector<std::string>{"flags differs: '-O3 -DNDEBUG' in a, '-O0' in b",
                                                        "scale differs: '1/64' in a, '1' in b"}));
  const std::string text = as_text(reports_of(launches), {});
  EXPECT_TRUE(
      text.starts_with("# no table of scaling: flags differs: '-O3 -DNDEBUG' in a, '-O0' in b\n"
                       "# no table of scaling: scale differs: '1/64' in a, '1' in b\n"))
      << text;
  EXPECT_NE(text.find("\n# file b\n"), text.npos) << text;
  EXPECT_TRUE(nlohmann::json::parse(as_json(reports_of(launches), {})).back()["scaling"].is_null());
}

TEST(Nodes, AreThoseThatShareMemoryOrElseHosts) {
  auto environment = sample_environment();
  EXPECT_EQ(nodes_of(environment), 1);
  environment["ranks"][1]["host"] = "node2";
  EXPECT_EQ(nodes_of(environment), 2);
  environment["ranks"][0]["node"] = 0;
  environment["ranks"][1]["node"] = 0;
  EXPECT_EQ(nodes_of(environment), 1);
}

}  // namespace
}  // namespace shardmark::results
