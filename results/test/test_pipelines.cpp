// SPDX-License-Identifier: Apache-2.0
// This tests what is reported of prefetched steps.
#include <gtest/gtest.h>

#include <string>

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

TEST(Pipelines, TheFastestOfEachModeIsALine) {
  const CaseRecord rows = ahead_case("rows", 4.0), off = ahead_case("off", 8.0), patched = ahead_case("patched", 9.0),
                   slower = ahead_case("rows", 10.0);
  const auto lines = pipeline_lines({&rows, &off, &patched, &slower});
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(lines[0],
            "async   plan                 T,C,S    stale depth         waits  prepare     main  formula       ms  "
            "error again    MB");
  EXPECT_EQ(lines[1],
            "rows    row_wise             2,3,5    1,4,5   1.2   0.500 0.250    6.000    2.000    3.000    4.000   "
            "-25%     -   2.5");
  EXPECT_EQ(lines[2],
            "off     row_wise                 -        -     -             -        -        -        -    8.000     "
            " -     -     -");
  EXPECT_NE(lines[3].find(" 38%   2.5"), std::string::npos) << lines[3];
  EXPECT_EQ(lines[4], "exposed communication, ms: rows 1.000, off 2.000, patched 2.250");
  for (const std::string& line : lines) EXPECT_LE(line.size(), 118u) << line;
}

TEST(Pipelines, TheOrderOfCompletionStandsApart) {
  const CaseRecord input = ahead_case("rows", 4.0);
  CaseRecord completion = ahead_case("rows", 5.0);
  completion.options["async_order"] = "completion";
  completion.details["pipeline"]["steps_overtaking"] = 0.125;
  const auto lines = pipeline_lines({&input, &completion});
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(lines[3], "exposed communication, ms: rows 1.000, rows by completion 1.250");
  EXPECT_EQ(lines[4],
            "steps that took a batch before an older one, in the order of completion: rows by completion 12%");
}

TEST(Pipelines, NothingIsSaidWithoutOne) {
  const CaseRecord off = ahead_case("off", 8.0);
  EXPECT_TRUE(pipeline_lines({&off}).empty());
}

}  // namespace
}  // namespace shardmark::results
