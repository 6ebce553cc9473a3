// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "results/results_table.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

std::vector<CaseRecord> four_cases() {
  std::vector<CaseRecord> records{sample_case("row_wise", 12.5), sample_case("data_parallel+table_wise", 10.0),
                                  sample_case("column_wise", 8.0), sample_case("table_wise", 9.0)};
  records[0].options["exchange"] = "pairwise";
  records[0].phases.insert(records[0].phases.begin() + 2, {"output_dist", 123.44, 100.0, 1 << 20});
  records[2].wrong = 12;
  records[3].checked_steps = 0;
  return records;
}

TEST(Table, IsWhatPeopleRead) {
  EXPECT_EQ(
      results_table(sample_environment(), four_cases()),
      R"(# shardmark 0.1.0, commit 0123456789ab with changes, Release build by GNU 12.2.0, 2026-11-21T06:12:00Z, seed 7
# command shardmark compare criteo-kaggle --scale 1/64
# hosts 1 (node1), machine Some CPU, 2 cores, 4 logical, 8.0 GiB, Linux 6.1.0
# workload criteo-kaggle, ranks 2, threads 1, transfer dense_partials, scale 1/64, optimizer rowwise_adagrad,
#   batch 16384, input 1.500 ms, lookup 2.000 ms, update 4.500 ms, imbal 1.06, MB 6.816
# ms: median of 6 steps, each the slowest rank's, and its interval; phases: their median ms; vs best: time per sample /
#   that of the fastest valid case in the same rounds, and the 95 % interval of this ratio
# plan                      exchange           ms           [95 %] samples/s output           vs best     wrong
  data_parallel+table_wise  mpi_alltoallv  10.000  [9.750, 10.250] 1,638,400      -                 1         0
  row_wise                  pairwise       12.500 [12.250, 12.750] 1,310,720  123.4 1.25 [1.20, 1.31]         0
  table_wise                mpi_alltoallv   9.000   [8.750, 9.250] 1,820,444      - 0.90 [0.85, 0.95] unchecked
  column_wise               mpi_alltoallv   8.000   [7.750, 8.250] 2,048,000      - 0.80 [0.76, 0.85]        12
ANSWER: The fastest plan is data_parallel+table_wise (exchange mpi_alltoallv): 10.00 ms [9.750, 10.25] a step, 1,638,400
    samples/s.
  It is 1.25 times [1.20, 1.31] as fast as the runner-up, row_wise (exchange pairwise).
  Its time: 56 % update, 25 % lookup, 19 % exchanges (input 19).
  Next: --transfer auto: row_wise was measured with dense_partials alone, and where rows are split what travels matters
    most.
  Next: --scale 1 before you decide: tables of 1/64 of their rows lie in caches.
FOM samples/s: 1638400
RESULT: INVALID (wrong values in 1 of 4 cases, first column_wise dense_partials mpi_alltoallv: 12 wrong; 1 of 4 cases unchecked)
)");
}

std::string lines_with(const std::string& text, const std::string& part) {
  std::istringstream stream(text);
  std::string found;
  for (std::string line; std::getline(stream, line);)
    if (line.find(part) != std::string::npos) found += line + '\n';
  return found;
}

TEST(Table, FieldsThatDifferAreColumns) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("row_wise", 10.0)};
  records[0].options["wire_forward"] = "bf16";
  records[1].ranks = 12;
  for (CaseRecord& record : records) {
    record.options["hotness"] = 3;
    record.changed.push_back("hotness");
  }
  const std::string text = results_table(sample_environment(), records);
  EXPECT_EQ(lines_with(text, "# plan"),
            "# plan row_wise, workload criteo-kaggle, threads 1, transfer dense_partials, exchange mpi_alltoallv, "
            "scale 1/64,\n");
  EXPECT_NE(text.find("optimizer rowwise_adagrad, batch 16384, hotness 3, input 1.500 ms"), std::string::npos) << text;
  EXPECT_EQ(lines_with(text, "# ranks wire").substr(0, 34), "# ranks wire_forward      ms      ");
  EXPECT_EQ(lines_with(text, "      2 bf16").substr(0, 34), "      2 bf16           8.000  [7.7");
}

TEST(Table, BothWaysOfAWireAreOneColumnWhereTheyAgree) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("row_wise", 10.0)};
  records[0].options["wire_forward"] = records[0].options["wire_backward"] = "fp16";
  EXPECT_EQ(lines_with(results_table(sample_environment(), records), "# wire ").substr(0, 14), "# wire      ms");
}

TEST(Table, OfEachPlanTheBestCaseIsShownAndTheOthersCounted) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("row_wise", 9.0), sample_case("table_wise", 10.0)};
  records[1].options["exchange"] = "pairwise";
  const std::string text = results_table(sample_environment(), records);
  EXPECT_NE(lines_with(text, "# each plan at its best of 1 to 2 cases; --all shows all 3"), "") << text;
  EXPECT_EQ(lines_with(text, "  9.000 "), "");
  const std::string all = results_table(sample_environment(), records, {.all = true});
  EXPECT_EQ(lines_with(all, "--all"), "");
  EXPECT_NE(lines_with(all, " 9.000 "), "");
}

TEST(Table, OfOnePlanEachValueOfWhatDiffersFirstHasALine) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("row_wise", 9.0), sample_case("row_wise", 10.0)};
  records[1].options["exchange"] = "pairwise";
  records[2].options["transfer"] = "unique_rows";
  const std::string text = results_table(sample_environment(), records);
  EXPECT_NE(lines_with(text, "# each transfer at its best of 1 to 2 cases; --all shows all 3"), "") << text;
  EXPECT_NE(lines_with(text, "  dense_partials  mpi_alltoallv "), "") << text;
  EXPECT_NE(lines_with(text, "  unique_rows     mpi_alltoallv "), "") << text;
}

TEST(Table, WrongCasesAreNeverLeftOut) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("row_wise", 9.0), sample_case("table_wise", 10.0)};
  records[1].options["exchange"] = "pairwise";
  records[1].wrong = 3;
  EXPECT_NE(lines_with(results_table(sample_environment(), records), "  row_wise    pairwise "), "");
}

TEST(Table, CasesThatWereStoppedEarlyAreMarked) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("table_wise", 10.0)};
  EXPECT_EQ(results_table(sample_environment(), records).find('*'), std::string::npos);
  records[1].details["stopped"] = "after round 6";
  const std::string text = results_table(sample_environment(), records);
  EXPECT_TRUE(lines_with(text, "  table_wise ").ends_with(" 1.25 [1.18, 1.32] *\n")) << text;
  EXPECT_NE(text.find("*: stopped early"), std::string::npos) << text;
}

TEST(Table, ARunThatDidNotEndIsInterrupted) {
  auto environment = sample_environment();
  environment["state"] = "running";
  environment["rounds"] = 12;
  const std::vector records{sample_case("row_wise", 8.0)};
  EXPECT_TRUE(results_table(environment, records)
                  .ends_with("\nRESULT: INTERRUPTED (still running, or cut off, after 12 rounds)\n"));
}

TEST(Table, ControlCharactersDoNotReachTheScreen) {
  std::vector records{sample_case("row\n\033[31mwise", 8.0), sample_case("table_wise", 8.0)};
  const std::string text = results_table(sample_environment(), records);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_NE(text.find("  row??[31mwise "), std::string::npos) << text;
}

TEST(Table, AnOptionThatSomeRecordsLackIsNoDifference) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("row_wise", 10.0)};
  records[0].options["nosuch"] = 3;
  EXPECT_EQ(results_table(sample_environment(), records).find("nosuch"), std::string::npos);
  records[1].options["nosuch"] = 4;
  EXPECT_NE(lines_with(results_table(sample_environment(), records), "# nosuch  ").find(" nosuch "), std::string::npos);
}

TEST(Table, ErrorsOfNarrowWiresHaveColumns) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("row_wise", 10.0)};
  records[1].options["exchange"] = "pairwise";
  records[0].wire_error = records[1].wire_error = WireError{};
  EXPECT_EQ(results_table(sample_environment(), records).find("err"), std::string::npos);
  records[0].wire_error->forward = {4.875e-4, 2e-4};
  const std::string text = results_table(sample_environment(), records);
  EXPECT_TRUE(lines_with(text, "# exchange ").ends_with(" fwd err           vs best\n")) << text;
  EXPECT_NE(lines_with(text, "  mpi_alltoallv ").find(" 4.9e-04 "), std::string::npos) << text;
  EXPECT_NE(text.find(" bwd err 0, "), std::string::npos) << text;
}

TEST(Table, LossAndAucOfDenseModelsHaveColumns) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("table_wise", 10.0)};
  EXPECT_EQ(lines_with(results_table(sample_environment(), records), "loss"), "");
  records[0].details["loss"] = 0.4617;
  records[0].details["auc"] = 0.78914;
  const std::string text = results_table(sample_environment(), records);
  EXPECT_NE(lines_with(text, "0.4617 0.7891"), "") << text;
}

TEST(Table, FewStepsAreSaidToGiveNoInterval) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("table_wise", 8.0)};
  EXPECT_EQ(lines_with(results_table(sample_environment(), records), "fewer"), "");
  records[1].step_ms = step_time({8.0, 8.0, 8.0});
  const std::string text = results_table(sample_environment(), records);
  EXPECT_EQ(lines_with(text, "# fewer"),
            "# fewer than 6 visits: the interval is minimum to maximum, and covers less than 95 %\n");
  EXPECT_EQ(lines_with(text, "# ms: median of 3 to 6 steps"), lines_with(text, "# ms"));
}

TEST(Table, ValuesThatACheckTellsNothingOfAreNamed) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("table_wise", 8.0)};
  EXPECT_EQ(lines_with(results_table(sample_environment(), records), "tells nothing"), "");
  records[1].details[unjudged_field] = {{"a", 1}, {"top.0.weight", 40}, {"b", 2}, {"c", 3}, {"d", 4}};
  const std::string text = results_table(sample_environment(), records);
  EXPECT_EQ(
      lines_with(text, "tells nothing"),
      "# the check tells nothing of 50 values, whose bounds are as large as their steps: top.0.weight 40, d 4, c 3, "
      "b 2 and 1\n")
      << text;
}

TEST(Table, WithoutAValidCaseThereIsNoRate) {
  std::vector records{sample_case("row_wise", 8.0)};
  records[0].checked_steps = 0;
  const std::string text = results_table(sample_environment(), records);
  EXPECT_TRUE(text.ends_with("FOM samples/s: none\nRESULT: INVALID (1 of 1 cases unchecked)\n")) << text;
  EXPECT_TRUE(lines_with(text, "  row_wise").ends_with(" 6.816 unchecked\n")) << text;
}

TEST(Table, WithoutCasesThereIsAVerdict) {
  EXPECT_TRUE(results_table(sample_environment(), {})
                  .ends_with("FOM samples/s: none\nRESULT: INVALID (no case was measured)\n"));
}

TEST(Table, APublishedRatioStandsBeforeTheAnswer) {
  auto environment = sample_environment();
  environment["published"] = {{"fast", "table_wise"}, {"slow", "row_wise"}, {"ratio", 1.845}, {"source", "8 GPUs"}};
  const std::vector records{sample_case("table_wise", 4.0), sample_case("row_wise", 8.0)};
  const std::string text = results_table(environment, records);
  EXPECT_NE(text.find("]\n# table_wise / row_wise: 2.00 here, 1.845 published (8 GPUs)\nANSWER: "), std::string::npos)
      << text;
  environment["published"] = {{"fast", 3}};
  EXPECT_NE(results_table(environment, records).find("cannot be read\nANSWER"), std::string::npos);
}

TEST(Table, AnEnvironmentThatLacksEverythingIsUnknown) {
  const auto bare =
      nlohmann::ordered_json::parse(R"({"record": "environment", "ranks": [1], "machine": [], "arguments": 3})");
  EXPECT_EQ(lines_with(results_table(bare, {}), "#"),
            "# shardmark unknown, commit unknown, unknown build by unknown, unknown, seed unknown\n"
            "# command 3\n"
            "# hosts 1 (unknown), machine unknown, unknown cores, unknown logical, unknown, Linux unknown\n");
}

TEST(Table, GpusOfRanksAreNamedOnce) {
  auto environment = sample_environment();
  for (const char* address : {"0000:1b:00", "0000:1b:00", "0000:43:00"})
    environment["ranks"].push_back({{"host", "node1"},
                                    {"gpu",
                                     {{"name", "NVIDIA H200"},
                                      {"address", address},
                                      {"memory_bytes", std::int64_t{150'000'000'000}},
                                      {"clock_mhz", 1980},
                                      {"driver", "13.0"}}}});
  EXPECT_EQ(lines_with(results_table(environment, {}), "# GPUs"),
            "# GPUs 2 x NVIDIA H200, 139.7 GiB, at most 1980 MHz, driver of CUDA 13.0\n");
}

TEST(Table, AnOrdinaryCaseShowsAllItsPhases) {
  CaseRecord record = sample_case("data_parallel+table_wise", 12345.0);
  record.options["transfer"] = "reduce_scatter";
  record.sent_bytes_max = 123'400'000;
  record.phases.clear();
  for (const std::string_view name : phase_names) record.phases.push_back({std::string(name), 1234.0, 1000.0, 1});
  const std::string text = results_table(sample_environment(), std::vector{record});
  EXPECT_NE(lines_with(text, " input lookup output dense grad update "), "") << text;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) EXPECT_LE(line.size(), 120U) << line;
}

}  // namespace
}  // namespace shardmark::results
