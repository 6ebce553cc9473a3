// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "results/json_lines.hpp"
#include "results/launch.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

class LaunchFile : public FolderTest {
 protected:
  std::string file_of(const std::string& text, const std::string& name = "launch.json") const {
    std::ofstream(folder / name, std::ios::binary) << text;
    return folder / name;
  }
  std::string google(const std::string& benchmarks, const std::string& context = R"("host_name": "node1")") const {
    return file_of("{\n  \"context\": {" + context + "},\n  \"benchmarks\": [\n" + benchmarks + "\n  ]\n}\n");
  }
  std::string records(const std::vector<CaseRecord>& cases, const std::string& name = "launch.jsonl") const {
    JsonLinesWriter writer(folder / name, sample_environment());
    for (const CaseRecord& each : cases) writer.append(to_json(each));
    writer.close();
    return writer.file();
  }
  std::string refusal(const std::string& file) const {
    return input_error([&] { read_launch(file); });
  }
};

std::string row(const std::string& name, const std::string& rest) {
  return R"({"name": ")" + name + R"(", "run_type": "iteration", )" + rest + "}";
}

TEST_F(LaunchFile, repetitions_of_google_benchmark_become_a_median_and_aggregates_are_left_out) {
  const Launch launch = read_launch(google(row("a/dim:4", R"("real_time": 3000, "time_unit": "us")") + ",\n" +
                                           row("b", R"("real_time": 2e6)") + ",\n" +
                                           row("a/dim:4", R"("real_time": 5000, "time_unit": "us")") + ",\n" +
                                           row("a/dim:4", R"("real_time": 1000, "time_unit": "us")") + ",\n" +
                                           R"({"name": "a/dim:4_mean", "run_name": "a/dim:4", "run_type": "aggregate",
                                               "real_time": 9, "time_unit": "s"})"));
  ASSERT_EQ(launch.cases.size(), 2U);
  EXPECT_EQ(launch.cases[0].name, "a/dim:4");
  EXPECT_DOUBLE_EQ(launch.cases[0].median_ms, 3.0);
  EXPECT_DOUBLE_EQ(launch.find("b")->median_ms, 2.0);  // nanoseconds unless the row says so
  EXPECT_EQ(launch.find("c"), nullptr);
}

TEST_F(LaunchFile, every_time_unit_of_google_benchmark_is_honoured) {
  for (const auto& [unit, ms] : {std::pair{"ns", 7e-6}, {"us", 7e-3}, {"ms", 7.0}, {"s", 7e3}}) {
    const std::string rest = std::string(R"("real_time": 7, "time_unit": ")") + unit + '"';
    EXPECT_DOUBLE_EQ(read_launch(google(row("a", rest))).cases[0].median_ms, ms) << unit;
  }
  EXPECT_NE(
      refusal(google(row("a", R"("real_time": 7, "time_unit": "h")"))).find("benchmarks[0]: the unit 'h' of real_time"),
      std::string::npos);
}

TEST_F(LaunchFile, a_counter_of_google_benchmark_can_take_the_place_of_its_time) {
  const std::string file = google(row("a", R"("real_time": 9e9, "median_us": 70, "GB/s": 3)"));
  EXPECT_DOUBLE_EQ(read_launch(file, "median_us").cases[0].median_ms, 0.07);
  EXPECT_EQ(input_error([&] { read_launch(file, "p99_us"); }),
            file + ": benchmarks[0]: p99_us is not a number above 0; measure again");
  EXPECT_EQ(input_error([&] { read_launch(file, "GB/s"); }),
            file + ": benchmarks[0]: the unit 'GB/s' of GB/s is none of ns, us, ms, s");
}

TEST_F(LaunchFile, an_error_of_google_benchmark_is_an_error_of_its_case) {
  const Launch launch =
      read_launch(google(row("a", R"("real_time": 1)") + "," +
                         row("a", R"("error_occurred": true, "error_message": "too little memory", "real_time": 0)")));
  EXPECT_EQ(launch.cases.at(0).error, "too little memory");
}

TEST_F(LaunchFile, the_context_of_google_benchmark_without_what_always_differs) {
  const Launch launch =
      read_launch(google(row("a", R"("real_time": 1)"),
                         R"("host_name": "node1", "num_cpus": 2, "date": "today", "load_avg": [1], "mhz_per_cpu": 3000,
                "executable": "./x", "flags": "-O3", "git_hash": "abc+")"));
  const std::vector<std::pair<std::string, std::string>> expected{
      {"host_name", "node1"}, {"num_cpus", "2"}, {"flags", "-O3"}};
  EXPECT_EQ(launch.context, expected);
  EXPECT_EQ(launch.revision, "abc+");
}

TEST_F(LaunchFile, a_results_file_is_a_launch) {
  CaseRecord scaled = sample_case("row_wise", 3.0);
  scaled.options["scale"] = 1;
  scaled.options["wire_forward"] = "bf16";
  scaled.changed = {"wire_forward"};
  CaseRecord wrong = sample_case("column_wise", 4.0);
  wrong.wrong = 7;
  wrong.options["wire_ids"] = "int64";
  wrong.changed = {"scale", "wire_ids"};
  const Launch launch = read_launch(records({sample_case("table_wise", 2.0), scaled, wrong}));
  ASSERT_EQ(launch.cases.size(), 3U);
  EXPECT_EQ(launch.cases[0].name,
            "criteo-kaggle/table_wise/dense_partials/mpi_alltoallv/rowwise_adagrad/scale:64/ranks:2/threads:1/"
            "batch:16384");
  EXPECT_DOUBLE_EQ(launch.cases[0].median_ms, 2.0);
  EXPECT_EQ(launch.cases[1].name,
            "criteo-kaggle/row_wise/dense_partials/mpi_alltoallv/rowwise_adagrad/wire_forward:bf16/ranks:2/threads:1/"
            "batch:16384");
  EXPECT_NE(launch.cases[2].name.find("/scale:64/wire_ids:int64/ranks:2"), std::string::npos);
  EXPECT_EQ(launch.cases[2].error, "7 wrong values");
  EXPECT_EQ(launch.revision, "0123456789abcdef0123456789abcdef01234567+");
  const std::vector<std::pair<std::string, std::string>> expected{
      {"host", "node1"},         {"cpu", "Some CPU"},       {"cores", "2"}, {"compiler", "GNU 12.2.0"},
      {"build_type", "Release"}, {"flags", "-O3 -DNDEBUG"}, {"seed", "7"}};
  EXPECT_EQ(launch.context, expected);
}

TEST_F(LaunchFile, options_with_other_values_make_other_cases) {
  std::vector<CaseRecord> cases(3, sample_case("table_wise", 2.0));
  for (const auto& [number, dtype] : {std::pair{1, "fp16"}, {2, "bf16"}}) {
    cases[number].options["dtype"] = dtype;
    cases[number].changed.push_back("dtype");
  }
  const Launch launch = read_launch(records(cases));
  ASSERT_EQ(launch.cases.size(), 3U);
  EXPECT_NE(launch.cases[1].name.find("/dtype:fp16/scale:64/ranks"), std::string::npos) << launch.cases[1].name;
  EXPECT_NE(launch.cases[2].name.find("/dtype:bf16/scale:64/ranks"), std::string::npos) << launch.cases[2].name;
  EXPECT_EQ(launch.cases[0].options.front(), std::pair(std::string("scale"), std::string("64")));
}

TEST_F(LaunchFile, broken_files_are_named_with_the_line) {
  const std::string file = folder / "launch.json";
  EXPECT_EQ(refusal(file_of("")), file + " is empty; measure again");
  EXPECT_EQ(refusal(file_of("{\n  \"context\": {},\n  oops\n}")), file + ":3: not valid JSON; measure again");
  EXPECT_EQ(refusal(file_of("[\n1]")), file + ":1: neither a results file nor one of Google Benchmark");
  EXPECT_EQ(refusal(file_of("{\n\"a\": 1}")),
            file + " has no list of benchmarks: it is not of Google Benchmark; name a results file");
  EXPECT_EQ(refusal(file_of("{\n\"benchmarks\": [3]}")), file + ": benchmarks[0] is not an object; measure again");
  EXPECT_EQ(refusal(file_of("{\n\"benchmarks\": []}")), file + " holds no case; measure again");
  EXPECT_EQ(refusal(file_of("{\n\"benchmarks\": [], \"context\": 3}")), file + " holds no case; measure again");
  EXPECT_EQ(refusal(file_of("{\n\"a\": " + std::string(100, '[') + std::string(100, ']') + "}")),
            file + ": JSON nested deeper than 32 levels; measure again");
  EXPECT_EQ(refusal(file_of("{}\n")),
            file + ":1: the first line is not an environment record; name a results file (.jsonl)");
  EXPECT_EQ(refusal(folder),
            "cannot read " + folder.string() + "; name a results file (.jsonl, or Google Benchmark's .json)");
}

TEST_F(LaunchFile, times_that_cannot_be_compared_are_refused) {
  const std::string file = folder / "launch.json";
  for (const char* time : {"0", "-1", "\"fast\"", "null"})
    EXPECT_EQ(refusal(google(row("a", R"("real_time": 1)") + "," + row("a", std::string(R"("real_time": )") + time))),
              file + ": benchmarks[1]: real_time is not a number above 0; measure again");
  EXPECT_EQ(refusal(google(row("a", R"("cpu_time": 1)"))),
            file + ": benchmarks[0]: real_time is not a number above 0; measure again");
  EXPECT_EQ(refusal(google(R"({"real_time": 1})")), file + ": benchmarks[0] has no name; measure again");
  EXPECT_EQ(refusal(google(R"({"name": "a_mean", "run_type": "aggregate", "real_time": 9})")),
            file + " holds aggregates only; measure without --benchmark_report_aggregates_only");
  CaseRecord none = sample_case("row_wise", 0.25);
  EXPECT_NE(refusal(records({none})).find("is not above 0"), std::string::npos);
  EXPECT_EQ(refusal(records({}, "none.jsonl")), (folder / "none.jsonl").string() + " holds no case; measure again");
}

TEST_F(LaunchFile, a_folder_is_its_launches_in_the_order_of_their_names) {
  records({sample_case("row_wise", 2.0)}, "2.jsonl");
  records({sample_case("row_wise", 1.0)}, "1.jsonl");
  records({sample_case("row_wise", 3.0)}, "3.jsonl.unfinished");
  std::filesystem::create_directory(folder / "empty");
  const std::vector<Launch> launches = read_launches(std::vector{folder, folder / "1.jsonl"});
  ASSERT_EQ(launches.size(), 3U);
  for (const auto& [i, ms] : {std::pair{0U, 1.0}, {1U, 2.0}, {2U, 1.0}}) EXPECT_EQ(launches[i].cases[0].median_ms, ms);
  EXPECT_EQ(input_error([&] { read_launches(std::vector{folder / "empty"}); }),
            (folder / "empty").string() + " holds no launch; name a folder with .json or .jsonl files");
}

}  // namespace
}  // namespace shardmark::results
