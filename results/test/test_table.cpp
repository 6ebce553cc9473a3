// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "results/table.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark {
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
# workload criteo-kaggle, ranks 2, threads 1, scale 64, optimizer rowwise_adagrad, batch 16384
# ms: median of 6 steps, each the maximum over ranks, and its interval; phases: their median ms
# imbal: maximum / mean over ranks of lookup; MB: sent by the busiest rank per step; vs best: time per sample / that of the fastest valid case
# plan                      transfer        exchange          ms [95 % interval] samples/s input lookup output update imbal    MB vs best     wrong
  data_parallel+table_wise  dense_partials  mpi_alltoallv  10.00  [9.750, 10.25]   1638400 1.500  2.000      -  4.500  1.06 6.816    1.00         0
  row_wise                  dense_partials  pairwise       12.50  [12.25, 12.75]   1310720 1.500  2.000  123.4  4.500  1.06 6.816    1.25         0
  table_wise                dense_partials  mpi_alltoallv  9.000  [8.750, 9.250]   1820444 1.500  2.000      -  4.500  1.06 6.816    0.90 unchecked
  column_wise               dense_partials  mpi_alltoallv  8.000  [7.750, 8.250]   2048000 1.500  2.000      -  4.500  1.06 6.816    0.80        12
FOM samples/s: 1.6384e+06
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
  EXPECT_EQ(lines_with(text, "# workload"),
            "# workload criteo-kaggle, threads 1, scale 64, optimizer rowwise_adagrad, batch 16384, hotness 3\n");
  EXPECT_EQ(lines_with(text, "# plan").substr(0, 79),
            "# plan      transfer        exchange       ranks wire_forward     ms [95 % inte");
  EXPECT_EQ(lines_with(text, "  row_wise").substr(0, 79),
            "  row_wise  dense_partials  mpi_alltoallv      2 bf16          8.000  [7.750, 8");
}

TEST(Table, AnOptionThatSomeRecordsLackIsNoDifference) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("row_wise", 10.0)};
  records[0].options["nosuch"] = 3;
  EXPECT_EQ(results_table(sample_environment(), records).find("nosuch"), std::string::npos);
  records[1].options["nosuch"] = 4;
  EXPECT_NE(lines_with(results_table(sample_environment(), records), "# plan").find(" nosuch "), std::string::npos);
}

TEST(Table, PredictionsHaveAColumnWhenThereIsOne) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("table_wise", 10.0)};
  EXPECT_EQ(results_table(sample_environment(), records).find("pred"), std::string::npos);
  records[0].predicted_ms = 8.25;
  const std::string text = results_table(sample_environment(), records);
  EXPECT_TRUE(lines_with(text, "# plan").ends_with(" vs best pred ms wrong\n")) << text;
  EXPECT_TRUE(lines_with(text, "  row_wise").ends_with("    1.00   8.250     0\n")) << text;
  EXPECT_TRUE(lines_with(text, "  table_wise").ends_with("    1.25       -     0\n")) << text;
}

TEST(Table, ErrorsOfNarrowWiresHaveColumns) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("row_wise", 10.0)};
  records[0].wire_error = records[1].wire_error = WireError{};
  EXPECT_EQ(results_table(sample_environment(), records).find("err"), std::string::npos);
  records[0].wire_error->forward = {4.875e-4, 2e-4};
  const std::string text = results_table(sample_environment(), records);
  EXPECT_TRUE(lines_with(text, "# plan").ends_with(" fwd err max rms bwd err max rms vs best wrong\n")) << text;
  EXPECT_NE(lines_with(text, "  row_wise").find(" 4.9e-04 2.0e-04               0 "), std::string::npos) << text;
}

TEST(Table, FewStepsAreSaidToGiveNoInterval) {
  std::vector records{sample_case("row_wise", 8.0), sample_case("table_wise", 8.0)};
  EXPECT_EQ(lines_with(results_table(sample_environment(), records), "fewer"), "");
  records[1].step_ms = step_time({8.0, 8.0, 8.0});
  const std::string text = results_table(sample_environment(), records);
  EXPECT_EQ(lines_with(text, "fewer"),
            "# fewer than 6 steps: the interval is minimum to maximum, and covers less than 95 %\n");
  EXPECT_EQ(lines_with(text, "# ms: median of 3 to 6 steps"), lines_with(text, "# ms"));
}

TEST(Table, WithoutAValidCaseThereIsNoRate) {
  std::vector records{sample_case("row_wise", 8.0)};
  records[0].checked_steps = 0;
  const std::string text = results_table(sample_environment(), records);
  EXPECT_TRUE(text.ends_with("FOM samples/s: none\nRESULT: INVALID (1 of 1 cases unchecked)\n")) << text;
  EXPECT_TRUE(lines_with(text, "  row_wise").ends_with("      - unchecked\n")) << text;
}

TEST(Table, WithoutCasesThereIsAVerdict) {
  EXPECT_TRUE(results_table(sample_environment(), {})
                  .ends_with("FOM samples/s: none\nRESULT: INVALID (no case was measured)\n"));
}

TEST(Table, APublishedRatioStandsBeforeTheFigureOfMerit) {
  auto environment = sample_environment();
  environment["published"] = {{"fast", "table_wise"}, {"slow", "row_wise"}, {"ratio", 1.845}, {"source", "8 GPUs"}};
  const std::vector records{sample_case("table_wise", 4.0), sample_case("row_wise", 8.0)};
  const std::string text = results_table(environment, records);
  EXPECT_NE(text.find("0\n# table_wise / row_wise: 2.00 here, 1.845 published (8 GPUs)\nFOM samples/s: "),
            std::string::npos)
      << text;
  environment["published"] = {{"fast", 3}};
  EXPECT_NE(results_table(environment, records).find("cannot be read\nFOM"), std::string::npos);
}

TEST(Table, AnEnvironmentThatLacksEverythingIsUnknown) {
  const auto bare =
      nlohmann::ordered_json::parse(R"({"record": "environment", "ranks": [1], "machine": [], "arguments": 3})");
  EXPECT_EQ(lines_with(results_table(bare, {}), "#"),
            "# shardmark unknown, commit unknown, unknown build by unknown, unknown, seed unknown\n"
            "# command 3\n"
            "# hosts 1 (unknown), machine unknown, unknown cores, unknown logical, unknown, Linux unknown\n");
}

TEST(Table, OrdinaryLinesFitAJobLog) {
  CaseRecord record = sample_case("data_parallel+table_wise", 12345.0);
  record.options["transfer"] = "reduce_scatter";
  record.sent_bytes_max = 123'400'000;
  record.phases.clear();
  for (const std::string_view name : phase_names) record.phases.push_back({std::string(name), 1234.0, 1000.0, 1});
  const std::string text = results_table(sample_environment(), std::vector{record});
  EXPECT_NE(lines_with(text, " input lookup output dense grad update "), "");
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) EXPECT_LE(line.size(), 160U) << line;
}

}  // namespace
}  // namespace shardmark
