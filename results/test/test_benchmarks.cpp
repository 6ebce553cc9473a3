// SPDX-License-Identifier: Apache-2.0
// Files of Google Benchmark as results show prints them.
#include <gtest/gtest.h>

#include "results/google_benchmark.hpp"
#include "results/results_table.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

nlohmann::ordered_json sample_benchmarks() {
  return nlohmann::ordered_json::parse(R"({
    "context": {"date": "2026-11-23", "cpu": "Some CPU", "threads": "2", "caches": []},
    "benchmarks": [
     {"name": "lookup/case:a/rows:10/ids:int64/manual_time", "run_type": "iteration", "repetition_index": 0, "iterations": 5,
      "real_time": 2.0, "cpu_time": 9.0, "time_unit": "ms", "GB/s": 50.0},
     {"name": "lookup/case:a/rows:10/ids:int64/manual_time", "run_type": "iteration", "repetition_index": 1, "iterations": 5,
      "real_time": 4.0, "cpu_time": 9.0, "time_unit": "ms", "GB/s": 30.0},
     {"name": "lookup/case:a/rows:10/ids:int64/manual_time_mean", "run_type": "aggregate", "real_time": 77.0},
     {"name": "BM_copy/8/ids:int64", "run_type": "iteration", "iterations": 5, "real_time": 12.0, "time_unit": "us"},
     {"name": "update/case:b/ids:int64", "error_occurred": true, "error_message": "no memory"}]})");
}

TEST(Benchmarks, AreMediansOverRepetitionsWithTheirCounters) {
  const auto rows = benchmark_rows(sample_benchmarks(), "a.json");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_DOUBLE_EQ(rows[0].median_ms, 3.0);
  EXPECT_EQ(rows[0].counters, (std::vector<std::pair<std::string, double>>{{"GB/s", 40.0}}));
  EXPECT_DOUBLE_EQ(rows[1].median_ms, 0.012);
  EXPECT_TRUE(rows[1].counters.empty());
  EXPECT_EQ(rows[2].error, "no memory");
}

TEST(Benchmarks, ArePrintedByTheWordsOfTheirNames) {
  Results results;
  results.benchmarks = sample_benchmarks();
  results.environment = results.benchmarks["context"];
  const Report report = report_of(results, "a.json");
  EXPECT_EQ(
      as_text({&report, 1}, {}),
      "# date 2026-11-23, cpu Some CPU, threads 2\n"
      "# time us: real time of an iteration, the median of the repetitions; counters are those of the benchmarks\n"
      "# ids int64\n"
      "# case a: rows 10\n"
      "# benchmark  case  time us  GB/s\n"
      "  lookup     a        3000 40.00\n"
      "  BM_copy/8  -       12.00     -\n"
      "  update     b       error     -\n"
      "# error of update/case:b/ids:int64: no memory\n");
  EXPECT_NE(as_markdown({&report, 1}, {}).find("| lookup | a | 3000 | 40.00 |"), std::string::npos);
  EXPECT_TRUE(as_csv({&report, 1}, {}).starts_with("name,run_type,repetition_index,"));
  const auto json = nlohmann::json::parse(as_json({&report, 1}, {}));
  EXPECT_EQ(json[0]["benchmarks"][0]["counters"]["GB/s"], 40.0);
  EXPECT_EQ(json[0]["benchmarks"][2]["error"], "no memory");
}

}  // namespace
}  // namespace shardmark::results
