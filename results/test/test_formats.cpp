// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "reference/named.hpp"
#include "results/table.hpp"
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
      text.find("\n| row_wise | mpi_alltoallv | 20.00 | \\[19.75, 20.25] | 819200 | 2.00 \\[1.93, 2.08] | \\* |\n"),
      std::string::npos)
      << text;
  EXPECT_EQ(text.find("| pairwise |"), std::string::npos) << text;
  EXPECT_NE(text.find("\n**ANSWER**: The fastest plan is table_wise"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\nFOM samples/s: 1.6384e+06\n\nRESULT: VALID\n")) << text;
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

TEST(Emphasis, OnATerminalTheBestIsBoldAndWhatIsWithinItsIntervalDim) {
  auto records = three_cases();
  records.push_back(sample_case("column_wise", 10.25));
  const std::string text = printed("text", records, {.emphasis = true});
  EXPECT_NE(text.find("\n\033[1m  table_wise"), std::string::npos) << text;
  EXPECT_NE(text.find("\n\033[2m  column_wise"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  row_wise"), std::string::npos) << text;
  for (const char* format : {"text", "markdown", "csv"})
    EXPECT_EQ(printed(format, records).find('\033'), std::string::npos) << format;
}

}  // namespace
}  // namespace shardmark::results
