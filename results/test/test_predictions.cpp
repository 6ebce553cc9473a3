// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "results/results_table.hpp"
#include "results/table/answer.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

CaseRecord predicted_case(const std::string& plan, double measured, double predicted) {
  CaseRecord record = sample_case(plan, measured);
  record.predicted_ms = predicted;
  return record;
}

std::vector<CaseRecord> predicted_cases() {
  return {predicted_case("row_wise", 20.0, 22.0), predicted_case("table_wise", 10.0, 9.5),
          predicted_case("column_wise", 12.0, 9.0)};
}

std::string verdict_sentence(const std::vector<CaseRecord>& cases) {
  for (const std::string& each : answer(findings_of(sample_environment(), cases)))
    if (each.starts_with("Predict")) return each;
  return "";
}

std::string lines_holding(const std::string& text, const std::string& part) {
  std::istringstream stream(text);
  std::string found;
  for (std::string line; std::getline(stream, line);)
    if (line.find(part) != std::string::npos) found += line + '\n';
  return found;
}

TEST(Predictions, StandBesideWhatWasMeasuredWithTheirError) {
  auto cases = predicted_cases();
  cases.push_back(sample_case("basic", 30.0));
  const std::string text = results_table(sample_environment(), cases);
  EXPECT_NE(lines_holding(text, "# plan ").find("predicted   error"), std::string::npos) << text;
  EXPECT_NE(lines_holding(text, "  row_wise ").find("    22.000 +10.0 %"), std::string::npos) << text;
  EXPECT_NE(lines_holding(text, "  table_wise ").find("    9.500  -5.0 %"), std::string::npos) << text;
  EXPECT_NE(lines_holding(text, "  basic ").find("        -       -"), std::string::npos) << text;
  EXPECT_EQ(text.find("predicted"), results_table(sample_environment(), cases).find("predicted"));
  EXPECT_EQ(results_table(sample_environment(), std::vector{sample_case("basic", 30.0)}).find("predicted"),
            std::string::npos);
}

TEST(Predictions, AreJudgedInTheAnswer) {
  // Errors 10, 5 and 25 %; ranks 3 2 1 beside 3 1 2; column_wise was liked, 12 ms beside 10.
  EXPECT_EQ(verdict_sentence(predicted_cases()),
            "Predictions of 3 cases: 13.3 % off on average (MAPE), rank correlation 0.50 (Spearman); they liked "
            "column_wise best, 20.0 % slower than the fastest (regret).");
  auto cases = predicted_cases();
  cases[2].predicted_ms = 13.0;
  EXPECT_TRUE(
      verdict_sentence(cases).ends_with("rank correlation 1.00 (Spearman); they liked the fastest best, table_wise."))
      << verdict_sentence(cases);
}

TEST(Predictions, OfOneCaseAreItsError) {
  EXPECT_EQ(verdict_sentence({predicted_case("row_wise", 20.0, 19.0)}),
            "Predicted were 19.00 ms, 5.0 % less than was measured.");
  EXPECT_EQ(verdict_sentence({predicted_case("row_wise", 20.0, 25.0), sample_case("basic", 9.0)}),
            "Predicted were 25.00 ms, 25.0 % more than was measured.");
  EXPECT_EQ(verdict_sentence({sample_case("row_wise", 20.0)}), "");
}

TEST(Predictions, OfInvalidCasesDoNotCount) {
  auto cases = predicted_cases();
  cases[2].wrong = 1;
  EXPECT_TRUE(verdict_sentence(cases).starts_with("Predictions of 2 cases: 7.5 % off")) << verdict_sentence(cases);
}

TEST(Predictions, CasesOfOtherBatchesAreComparedBySample) {
  auto cases = predicted_cases();
  cases[0].options["batch"] = 4 * 16384;  // now the fastest per sample, and predicted to be
  cases[0].samples_per_s *= 4.0;
  EXPECT_NE(verdict_sentence(cases).find("they liked the fastest best, row_wise"), std::string::npos)
      << verdict_sentence(cases);
}

TEST(Predictions, PhasesStandBesideWhatTheMachineAllows) {
  auto cases = predicted_cases();
  for (CaseRecord& record : cases) record.phases[1].predicted_ms = 2.5;
  EXPECT_NE(lines_holding(results_table(sample_environment(), cases), "# step ").find(" -"), std::string::npos);
  for (CaseRecord& record : cases)
    for (PhaseTime& phase : record.phases) phase.least_ms = phase.median_ms / 2;
  const std::string text = results_table(sample_environment(), cases);
  EXPECT_NE(text.find(R"(
# phases of table_wise, ms; least: what the measured speed of memory and links allows for the same bytes
# phase       measured predicted   error least measured/least
# input_dist     1.500         -       - 0.750            2.0
# lookup         2.000     2.500 +25.0 % 1.000            2.0
)"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("phases of row_wise"), std::string::npos);
  EXPECT_NE(results_table(sample_environment(), cases, {.all = true}).find("# phases of row_wise"), std::string::npos);
  const auto environment = sample_environment();
  const std::vector<Report> report{{environment, cases}};
  EXPECT_NE(as_markdown(report, {}).find("| lookup | 2.000 | 2.500 | +25.0 % | 1.000 | 2.0 |"), std::string::npos)
      << as_markdown(report, {});
}

/// Where groups of tables travel while others compute, phases overlap, and the least of a step is not their sum.
TEST(Predictions, TheLeastOfAStepIsTheSumOfItsPhasesUnlessTheyOverlap) {
  CaseRecord record = predicted_case("row_wise", 20.0, 19.0);
  for (PhaseTime& phase : record.phases) phase.least_ms = phase.median_ms / 2;
  EXPECT_NE(lines_holding(results_table(sample_environment(), std::vector{record}), "# step ").find("4.000"),
            std::string::npos);
  const std::string alone = results_table(sample_environment(), std::vector{record}, {.all = true});
  EXPECT_NE(alone.find("% limit"), std::string::npos) << alone;
  record.options["groups"] = 4;
  EXPECT_EQ(results_table(sample_environment(), std::vector{record}, {.all = true}).find("% limit"), std::string::npos);
  EXPECT_EQ(lines_holding(results_table(sample_environment(), std::vector{record}), "# step ").find("4.000"),
            std::string::npos);
}

TEST(Predictions, TellByWhatTheyWereMade) {
  auto environment = sample_environment();
  environment["predicted_by"] = {{"name", "here"}, {"source", "measured on 2 ranks"}, {"measured", true}};
  EXPECT_NE(results_table(environment, predicted_cases()).find("\n# predicted by here: measured on 2 ranks\n"),
            std::string::npos);
  environment["predicted_by"]["warning"] = "not on these ranks";
  EXPECT_NE(results_table(environment, predicted_cases()).find("measured on 2 ranks; WARNING: not on these ranks\n"),
            std::string::npos);
}

TEST(Predictions, LinesStayWithinAScreen) {
  auto cases = predicted_cases();
  for (CaseRecord& record : cases) {
    record.plan = "memory_balanced:column_threshold=320000:row_threshold=640000:dp_threshold=6000-" + record.plan;
    for (PhaseTime& phase : record.phases) phase.predicted_ms = phase.least_ms = 123456.0;
  }
  std::istringstream lines(results_table(sample_environment(), cases, {.all = true}));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
}

}  // namespace
}  // namespace shardmark::results
