// SPDX-License-Identifier: Apache-2.0
// This tests what is reported of prefetched steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "results/table/pipelines.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

CaseRecord ahead_case(const std::string& mode, double ms) {
  CaseRecord record = sample_case("row_wise", ms);
  record.options["async"] = mode;
  record.exposed_ms = ms / 4;
  if (mode == "off") return record;
  record.details["pipeline"] = {{"threads", 2},
                                {"capacity", 3},
                                {"staleness", {{"p50", 1}, {"p99", 4}, {"max", 5}}},
                                {"queue_depth", {{"mean", 1.25}, {"max", 3}}},
                                {"stall_ms", {{"batch", 0.5}, {"update", 0.25}}},
                                {"prepare_ms", 6.0},
                                {"main_ms", 2.0},
                                {"formula_ms", 3.0},
                                {"formula_error", -0.25},
                                {"buffered_bytes_max", 2500000}};
  if (mode != "ids") record.details["pipeline"]["staleness_bound"] = 5;
  if (mode == "patched") record.details["pipeline"]["vectors_again"] = 0.375;
  return record;
}

TEST(Pipelines, TheFastestOfEachModeIsAColumn) {
  const CaseRecord rows = ahead_case("rows", 4.0), off = ahead_case("off", 8.0), patched = ahead_case("patched", 9.0),
                   slower = ahead_case("rows", 10.0);
  const std::vector<std::string> expected{"prefetching (--async)                           rows      off  patched",
                                          "plan                                        row_wise row_wise row_wise",
                                          "threads that prepare batches                       2        -        2",
                                          "prepared batches that may wait                     3        -        3",
                                          "prepared batches that wait, mean                 1.2        -      1.2",
                                          "updates that rows may lack                         5        -        5",
                                          "updates that rows lack: median, 99 %, most   1, 4, 5        -  1, 4, 5",
                                          "ms to prepare a batch                          6.000        -    6.000",
                                          "ms of a step without that                      2.000        -    2.000",
                                          "ms that steps wait for a batch                 0.500        -    0.500",
                                          "ms that updates wait for lookups               0.250        -    0.250",
                                          "ms of communication with nothing beside it     1.000    2.000    2.250",
                                          "ms of a step                                   4.000    8.000    9.000",
                                          "  by max(prepare / threads, without)           3.000        -    3.000",
                                          "  which is off by                               -25%        -     -25%",
                                          "vectors that are sent twice                        -        -      38%",
                                          "MB of batches in memory, fullest rank            2.5        -      2.5"};
  EXPECT_EQ(pipeline_lines({&rows, &off, &patched, &slower}), expected);
}

TEST(Pipelines, TheOrderOfCompletionStandsApart) {
  const CaseRecord input = ahead_case("rows", 4.0);
  CaseRecord completion = ahead_case("rows", 5.0);
  completion.options["async_order"] = "completion";
  completion.details["pipeline"]["steps_overtaking"] = 0.125;
  const auto lines = pipeline_lines({&input, &completion});
  EXPECT_NE(lines[0].find(" rows by completion"), std::string::npos) << lines[0];
  const auto has = [&](const std::string& start, const std::string& end) {
    return std::ranges::any_of(lines,
                               [&](const std::string& line) { return line.starts_with(start) && line.ends_with(end); });
  };
  EXPECT_TRUE(has("steps whose batch was not the oldest", " -                12%"));
}

TEST(Pipelines, SevenModesFitInALine) {
  std::vector<CaseRecord> cases{ahead_case("off", 8.0)};
  for (const char* mode : {"ids", "rows", "patched"})
    for (const char* order : {"input", "completion"}) {
      cases.push_back(ahead_case(mode, 4.0));
      cases.back().options["async_order"] = order;
      cases.back().plan = "data_parallel+table_wise";
    }
  Records records;
  for (const CaseRecord& record : cases) records.push_back(&record);
  const auto lines = pipeline_lines(records);
  EXPECT_EQ(std::ranges::count(lines.front(), '.'), 6) << lines.front();  // three are shortened by ".."
  for (const std::string& line : lines) EXPECT_LE(line.size(), 118u) << line;
}

TEST(Pipelines, NothingIsSaidWithoutOne) {
  const CaseRecord off = ahead_case("off", 8.0);
  EXPECT_TRUE(pipeline_lines({&off}).empty());
}

}  // namespace
}  // namespace shardmark::results
