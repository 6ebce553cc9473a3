// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "reference/named.hpp"
#include "results/results_table.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

std::vector<CaseRecord> three_cases() {
  std::vector records{sample_case("table_wise", 10.0), sample_case("table_wise", 11.0), sample_case("row_wise", 20.0)};
  records[1].options["exchange"] = "pairwise";
  records[2].details["stopped"] = "after round 6";
  return records;
}

std::string printed(const std::string& format, const std::vector<CaseRecord>& records, TableOptions options = {}) {
  const auto environment = sample_environment();
  const Report report{environment, records, "a.jsonl"};
  return choice_named(results_formats, "format", format).print({&report, 1}, options);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Formats, AreNamedAndTextComesFirst) {
  EXPECT_EQ(results_formats.front().name, "text");
  EXPECT_EQ(printed("text", three_cases()), results_table(sample_environment(), three_cases()));
  EXPECT_EQ(input_error([] { choice_named(results_formats, "format", "html"); }).substr(0, 21),
            "unknown format 'html'");
}

TEST(Formats, OfSeveralFilesEachIsNamed) {
  const auto environment = sample_environment();
  const auto records = three_cases();
  const std::vector<Report> reports{{environment, records, "a.jsonl"}, {environment, records, "b.jsonl"}};
  EXPECT_NE(as_text(reports, {}).find("RESULT: VALID\n\n# file b.jsonl\n# shardmark"), std::string::npos);
  EXPECT_TRUE(as_markdown(reports, {}).starts_with("### a.jsonl\n\n- shardmark"));
  const auto lines = lines_of(as_csv(reports, {}));
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_TRUE(lines[0].starts_with("file,workload,plan,")) << lines[0];
  EXPECT_TRUE(lines[4].starts_with("b.jsonl,criteo-kaggle,")) << lines[4];
}

TEST(Markdown, IsATableOfWhatDiffersWithTheAnswerBelow) {
  const std::string text = printed("markdown", three_cases());
  EXPECT_NE(text.find(R"(
| plan | exchange | ms | \[95 %] | samples/s | vs best |  |
)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n|--|--|--:|--:|--:|--:|--|\n| **table_wise** | **mpi_alltoallv** | **10.00** |"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find("\n| row_wise | mpi_alltoallv | 20.00 | \\[19.75, 20.25] | 819,200 | 2.00 \\[1.93, 2.08] | \\* |\n"),
      std::string::npos)
      << text;
  EXPECT_EQ(text.find("| pairwise |"), std::string::npos) << text;
  EXPECT_NE(text.find("\n**ANSWER**: The fastest plan is table_wise"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\nFOM samples/s: 1638400\n\nRESULT: VALID\n")) << text;
  EXPECT_NE(printed("markdown", three_cases(), {.all = true}).find("| pairwise |"), std::string::npos);
}

TEST(Markdown, NamesDoNotBreakTheTable) {
  auto records = three_cases();
  records[0].plan = "a|b\n<c>";
  EXPECT_NE(printed("markdown", records).find("| **a\\|b?\\<c>** |"), std::string::npos)
      << printed("markdown", records);
}

TEST(Csv, HasEveryFieldOfEveryCase) {
  const auto lines = lines_of(printed("csv", three_cases()));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0],
            "workload,plan,options.scale,options.transfer,options.exchange,options.wire_forward,options.wire_backward,"
            "options.groups,options.optimizer,options.batch,options.ids.alpha,changed,ranks,threads,step_ms.median,"
            "step_ms.low,step_ms.high,step_ms.n,step_ms.samples,samples_per_s,phases.input_dist.median_ms,"
            "phases.input_dist.mean_over_ranks_ms,phases.input_dist.bytes,phases.lookup.median_ms,"
            "phases.lookup.mean_over_ranks_ms,phases.lookup.bytes,phases.update.median_ms,"
            "phases.update.mean_over_ranks_ms,phases.update.bytes,imbalance,sent_bytes_max,predicted_ms,checked_steps,"
            "wrong,seed,valid,stopped");
  EXPECT_EQ(
      lines[1],
      "criteo-kaggle,table_wise,64,dense_partials,mpi_alltoallv,fp32,fp32,1,rowwise_adagrad,16384,1.05,"
      "\"[\"\"scale\"\"]\",2,1,10.0,9.75,10.25,6,\"[10.25,9.75,10.0,10.125,9.875,10.0]\",1638400.0,1.5,1.25,1048576,"
      "2.0,1.75,3145728,4.5,4.0,6291456,1.0625,6815744,,3,0,7,true,");
  EXPECT_TRUE(lines[3].ends_with(",true,after round 6")) << lines[3];
}

TEST(Csv, TextThatHoldsSeparatorsIsQuoted) {
  auto records = three_cases();
  records[0].plan = "a,\"b\"";
  EXPECT_NE(printed("csv", records).find("\ncriteo-kaggle,\"a,\"\"b\"\"\",64,"), std::string::npos);
}

TEST(Csv, OfNoCaseIsEmpty) { EXPECT_EQ(printed("csv", {}), ""); }

nlohmann::json document(const std::vector<CaseRecord>& records) {
  return nlohmann::json::parse(printed("json", records)).at(0);
}

TEST(JsonFormat, IsOneDocumentWithAnObjectForEachFile) {
  const auto environment = sample_environment();
  const auto records = three_cases();
  const std::vector<Report> reports{{environment, records, "a.jsonl"}, {environment, records, "b.jsonl"}};
  const auto json = nlohmann::ordered_json::parse(as_json(reports, {}));
  ASSERT_EQ(json.size(), 2U);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json[1].items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"file", "circumstances", "compared", "cases", "ratios", "predictions",
                                            "answer", "result"}));
  EXPECT_EQ(json[1]["file"], "b.jsonl");
  EXPECT_EQ(json[1]["answer"].get<std::vector<std::string>>(), answer_to(records));
  EXPECT_EQ(json[1]["result"], "RESULT: VALID");
}

TEST(JsonFormat, CasesStandInTheOrderOfTheFileWithTheirRank) {
  auto records = three_cases();
  std::swap(records[0], records[1]);
  records.push_back(sample_case("column_wise", 5.0));
  records.back().wrong = 3;
  const auto cases = document(records).at("cases");
  const auto values = [&](const char* key) {
    std::vector<nlohmann::json> found;
    for (const auto& each : cases) found.push_back(each.at(key));
    return nlohmann::json(found).dump();
  };
  EXPECT_EQ(values("number"), "[0,1,2,3]");
  EXPECT_EQ(values("rank"), "[2,1,3,4]");
  EXPECT_EQ(values("valid"), "[true,true,true,false]");
  EXPECT_EQ(values("ratio"), "[1.1,1.0,2.0,0.5]");
  EXPECT_EQ(values("plan"), R"(["table_wise","table_wise","row_wise","column_wise"])");
  EXPECT_EQ(cases[1].at("step_ms").dump(), R"({"high":10.25,"low":9.75,"median":10.0})");
  EXPECT_EQ(cases[1].at("samples_per_s"), 1638400.0);
  EXPECT_EQ(cases[0].at("options").at("exchange"), "pairwise");
  EXPECT_TRUE(cases[0].at("predicted_ms").is_null());
  EXPECT_TRUE(cases[0].at("error").is_null());
  EXPECT_EQ(values("leads"), "[false,true,true,false]");
  EXPECT_EQ(
      values("name"),
      R"x(["table_wise (exchange pairwise)","table_wise (exchange mpi_alltoallv)","row_wise (exchange mpi_alltoallv)","column_wise (exchange mpi_alltoallv)"])x");
  EXPECT_FALSE(cases[0].contains("stopped"));
  EXPECT_EQ(cases[2].at("stopped"), "after round 6");
}

TEST(JsonFormat, PartsOfPhasesAddUpToTheStep) {
  std::vector records{sample_case("table_wise", 10.0)};
  const auto parts = [&] { return nlohmann::json(document(records).at("cases")[0].at("parts")).dump(); };
  records[0].phases = {{"lookup", 6.0, 6.0, 0}, {"update", 9.0, 9.0, 0}};
  EXPECT_EQ(parts(), "null");  // they overlap, and nobody knows by how much
  records[0].phases[0].path_ms = 0.0;
  records[0].phases[1].path_ms = 7.5;
  EXPECT_EQ(parts(), R"({"lookup":0.0,"update":7.5,"waiting":2.5})");
  records[0].phases[0].path_ms = 2.5;
  EXPECT_EQ(parts(), R"({"lookup":2.5,"update":7.5})");
}

TEST(JsonFormat, CasesThatAreNotDistinguishableFromTheBestAreTied) {
  const auto cases =
      document({sample_case("table_wise", 10.0), sample_case("row_wise", 10.125), sample_case("column_wise", 20.0)})
          .at("cases");
  EXPECT_EQ(cases[0].at("tied"), true);
  EXPECT_EQ(cases[1].at("tied"), true);
  EXPECT_EQ(cases[2].at("tied"), false);
}

TEST(JsonFormat, RatiosAreOfAllPairsOfValidCasesOfAWorkload) {
  auto records = three_cases();
  records.push_back(sample_case("column_wise", 5.0));
  records.back().wrong = 3;
  records.push_back(sample_case("table_wise", 2.0));
  records.back().workload = "dlrm-dcnv2";
  const auto ratios = document(records).at("ratios");
  ASSERT_EQ(ratios.size(), 3U);
  EXPECT_EQ(ratios[1].at("slow"), 2);
  EXPECT_EQ(ratios[1].at("fast"), 0);
  EXPECT_EQ(ratios[1].at("ratio"), 2.0);
  EXPECT_EQ(ratios[1].at("low"), 19.75 / 10.25);
  EXPECT_EQ(ratios[1].at("high"), 20.25 / 9.75);
  EXPECT_EQ(ratios[1].at("rounds"), 0);
  EXPECT_EQ(ratios[1].at("distinguishable"), true);
}

/// Eight rounds of 10 and 12, the last of 10 and 9: the table says the same of two cases, and of three.
TEST(JsonFormat, RatiosAreThoseWithinRoundsOfAllPairsOfAJob) {
  std::vector records{sample_case("table_wise", 10.0), sample_case("row_wise", 12.0), sample_case("grid", 30.0)};
  const std::vector<std::int64_t> visits(8, 1);
  records[0].step_ms = step_time({10, 10, 10, 10, 10, 10, 10, 10}, visits);
  records[1].step_ms = step_time({12.0, 12.1, 12.2, 12.3, 12.4, 12.5, 12.6, 9.0}, visits);
  records[2].step_ms = step_time({30, 30, 30, 30, 30, 30, 30, 30}, visits);
  const auto first = [&] { return document(records).at("ratios").at(0); };
  const TimeRatio of_three = time_ratio(records[1], records[0], 3);
  EXPECT_EQ(first().at("low"), of_three.low);
  EXPECT_EQ(first().at("rounds"), 8);
  EXPECT_EQ(first().at("distinguishable"), of_three.is_distinguishable());
  records[0].details[part_field] = records[1].details[part_field] = "one";
  records[2].details[part_field] = "other";
  EXPECT_EQ(first().at("low"), time_ratio(records[1], records[0]).low);
  const auto merged = document(records);
  EXPECT_EQ(merged.at("ratios").at(1).at("rounds"), 0);  // of different jobs
  std::vector<int> ranks;
  for (const auto& each : merged.at("cases")) ranks.push_back(each.at("rank"));
  EXPECT_EQ(ranks, (std::vector{1, 2, 1}));
  records[0].step_ms = step_time({10, 10}, {2});
  EXPECT_TRUE(first().at("low").is_null());  // one round has no interval
  EXPECT_EQ(first().at("distinguishable"), false);
}

/// Errors +10, -5, -25, 0 %; ranks 3 2 1 4 beside 3 1 2 4; lookup_greedy is liked best.
TEST(JsonFormat, PredictionsAreRatedForEachWorkloadAndAll) {
  std::vector records{sample_case("row_wise", 20.0), sample_case("search", 10.0), sample_case("lookup_greedy", 12.0),
                      sample_case("random", 40.0), sample_case("table_wise", 10.0)};
  const std::vector<double> predicted{22.0, 9.5, 9.0, 40.0, 11.0};
  for (std::size_t i = 0; i < records.size(); ++i) records[i].predicted_ms = predicted[i];
  const auto alone = document({records.begin(), records.begin() + 4}).at("predictions");
  ASSERT_EQ(alone.size(), 2U);
  EXPECT_EQ(alone[0].at("workload"), "criteo-kaggle");
  EXPECT_EQ(alone[0].at("cases"), 4);
  EXPECT_NEAR(alone[0].at("mean_error").get<double>(), 0.1, 1e-12);
  EXPECT_NEAR(alone[0].at("rank_correlation").get<double>(), 0.8, 1e-12);
  EXPECT_EQ(alone[0].at("liked"), 2);
  EXPECT_NEAR(alone[0].at("regret").get<double>(), 0.2, 1e-12);
  EXPECT_TRUE(alone[1].at("workload").is_null());
  EXPECT_EQ(alone[1].at("liked"), 2);
  records[4].workload = "dlrm-dcnv2";
  const auto both = document(records);
  ASSERT_EQ(both.at("predictions").size(), 3U);
  EXPECT_TRUE(both.at("predictions")[1].at("rank_correlation").is_null());
  EXPECT_EQ(both.at("predictions")[1].at("liked"), 4);
  EXPECT_EQ(both.at("predictions")[2].at("cases"), 5);
  EXPECT_NEAR(both.at("predictions")[2].at("mean_error").get<double>(), 0.1, 1e-12);
  EXPECT_TRUE(both.at("predictions")[2].at("regret").is_null());
  EXPECT_NEAR(both.at("cases")[2].at("error").get<double>(), -0.25, 1e-12);
}

TEST(JsonFormat, OfNoCaseHasOnlyTheVerdict) {
  EXPECT_EQ(printed("json", {}),
            "[\n {\n  \"file\": \"a.jsonl\",\n  \"circumstances\": null,\n  \"compared\": \"plan\",\n  \"cases\": "
            "[],\n  \"ratios\": [],\n  \"predictions\": [],\n"
            "  \"answer\": [],\n  \"result\": \"RESULT: INVALID (no case was measured)\"\n }\n]\n");
}

TEST(Emphasis, OnATerminalTheBestIsBoldAndWhatIsWithinItsIntervalDim) {
  auto records = three_cases();
  records.push_back(sample_case("column_wise", 10.25));
  const std::string text = printed("text", records, {.emphasis = true});
  EXPECT_NE(text.find("\n\033[1m  table_wise"), std::string::npos) << text;
  EXPECT_NE(text.find("\n\033[2m  column_wise"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  row_wise"), std::string::npos) << text;
  for (const char* format : {"text", "markdown", "csv", "json"})
    EXPECT_EQ(printed(format, records).find('\033'), std::string::npos) << format;
}

}  // namespace
}  // namespace shardmark::results
