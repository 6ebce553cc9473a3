// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "reference/error.hpp"
#include "results/json_lines.hpp"
#include "results/results_table.hpp"
#include "results/test/sample_records.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/printing.hpp"

namespace shardmark::workloads {
namespace {

class ResultsCommand : public results::FolderTest {
 protected:
  /// Writes a results file of one case and returns its path.
  std::string file_with(const std::string& name, std::int64_t wrong,
                        const nlohmann::ordered_json& environment = results::sample_environment()) const {
    results::CaseRecord record = results::sample_case("table_wise", 10.0);
    record.wrong = wrong;
    results::JsonLinesWriter writer(folder / name, environment);
    writer.append(results::to_json(record));
    writer.close();
    return writer.file();
  }

  /// What `shardmark results <arguments>` prints.
  std::string printed(std::vector<std::string> arguments) {
    CLI::App app;
    define_results(app);
    std::ranges::reverse(arguments);
    testing::internal::CaptureStdout();
    try {
      app.parse(arguments);
    } catch (const Failure&) {
      failed = true;
    } catch (...) {
      testing::internal::GetCapturedStdout();
      throw;
    }
    return testing::internal::GetCapturedStdout();
  }

  bool failed = false;
};

TEST_F(ResultsCommand, show_prints_the_table_again) {
  const std::string file = file_with("a.jsonl", 0);
  EXPECT_EQ(printed({"show", file}),
            results::results_table(results::sample_environment(), results::read_results(file).cases));
  EXPECT_FALSE(failed);
}

TEST_F(ResultsCommand, show_names_each_of_several_files_and_fails_if_one_is_wrong) {
  const std::string good = file_with("good.jsonl", 0);
  const std::string bad = file_with("bad.jsonl", 2);
  const std::string text = printed({"show", bad, good});
  EXPECT_TRUE(text.starts_with("# file " + bad + "\n# shardmark")) << text;
  EXPECT_NE(text.find("\n\n# file " + good + "\n# shardmark"), text.npos) << text;
  EXPECT_TRUE(text.ends_with("RESULT: VALID\n")) << text;
  EXPECT_TRUE(failed);
}

TEST_F(ResultsCommand, show_of_a_file_that_cannot_be_read_prints_nothing) {
  const std::string good = file_with("good.jsonl", 0);
  EXPECT_EQ(results::input_error([&] {
              printed({"show", good, "absent.jsonl"});
            }),
            "cannot read absent.jsonl; name a results file (.jsonl, or Google Benchmark's .json)");
}

TEST_F(ResultsCommand, show_says_that_a_run_did_not_end) {
  auto environment = results::sample_environment();
  environment["state"] = "interrupted by SIGUSR1";
  environment["rounds"] = 2;
  const std::string text = printed({"show", file_with("a.jsonl.partial", 0, environment)});
  EXPECT_TRUE(text.ends_with("\nRESULT: INTERRUPTED (interrupted by SIGUSR1, after 2 rounds)\n")) << text;
  EXPECT_FALSE(failed);
}

TEST_F(ResultsCommand, show_prints_other_formats_and_refuses_unknown_ones) {
  const std::string file = file_with("a.jsonl", 0);
  EXPECT_NE(printed({"show", file, "--format", "markdown"}).find("\n| plan | ms |"), std::string::npos);
  testing::internal::CaptureStderr();
  const std::string csv = printed({"show", "--format", "csv", file, file});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "shardmark: RESULT: VALID\nshardmark: RESULT: VALID\n");
  EXPECT_EQ(std::ranges::count(csv, '\n'), 3) << csv;
  EXPECT_EQ(results::input_error([&] {
              printed({"show", file, "--format", "html"});
            }),
            "unknown format 'html'; valid: text, markdown, csv, json");
}

TEST_F(ResultsCommand, show_prints_exchanges_and_fails_where_bytes_are_wrong) {
  for (const std::int64_t wrong : {0, 5}) {
    results::ExchangeRecord record{
        .skew = "uniform", .bytes = 1024, .exchange = "linear", .time_ms = {.median = 1.0, .n = 1}};
    record.wrong = wrong;
    results::JsonLinesWriter writer(folder / ("exchange" + std::to_string(wrong)), results::sample_environment());
    writer.append(results::to_json(record));
    writer.close();
    failed = false;
    const std::string text = printed({"show", writer.file().string()});
    EXPECT_NE(text.find("uniform   1KiB linear "), text.npos) << text;
    EXPECT_TRUE(text.ends_with(wrong == 0 ? "RESULT: VALID\n" : "RESULT: INVALID (5 wrong bytes)\n")) << text;
    EXPECT_EQ(failed, wrong > 0);
  }
}

TEST_F(ResultsCommand, what_people_see_is_emphasised_unless_they_set_no_color) {
  const results::CaseRecord record = results::sample_case("table_wise", 10.0);
  const auto environment = results::sample_environment();
  const results::Report report{environment, {&record, 1}};
  const auto text = [&](bool terminal) {
    testing::internal::CaptureStdout();
    print_results({&report, 1}, {}, terminal);
    return testing::internal::GetCapturedStdout();
  };
  unsetenv("NO_COLOR");
  EXPECT_NE(text(true).find("\033[1m  table_wise"), std::string::npos);
  EXPECT_EQ(text(false).find('\033'), std::string::npos);
  setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(text(true).find('\033'), std::string::npos);
  unsetenv("NO_COLOR");
}

TEST_F(ResultsCommand, a_file_is_required) {
  EXPECT_THROW(printed({}), CLI::RequiredError);
  EXPECT_THROW(printed({"show"}), CLI::RequiredError);
}

/// HugeCTR's cost likes column_wise best, which took half as long again as the fastest of those that are made again.
TEST_F(ResultsCommand, audit_rates_predictions_beside_those_of_other_planners) {
  results::JsonLinesWriter writer(folder / "predicted.jsonl", results::sample_environment());
  for (const auto& [plan, measured, predicted] : {std::tuple("table_wise", 10.0, 11.0),
                                                  {"row_wise", 20.0, 18.0},
                                                  {"column_wise", 15.0, 15.0},
                                                  {"search", 5.0, 5.0}}) {
    results::CaseRecord record = results::sample_case(plan, measured);
    record.predicted_ms = predicted;
    writer.append(results::to_json(record));
  }
  writer.close();
  const std::string file = writer.file();
  const std::string text = printed({"audit", file, "--hugectr_auto", "work=1000"});
  EXPECT_NE(text.find("| workload | plans | ours: MAPE | ours: Spearman | ours: regret | TorchRec: MAPE |"), text.npos)
      << text;
  EXPECT_NE(text.find("| criteo-kaggle | 3 of 4 | 6.7 % | 1.00 | 0.0 % |"), text.npos) << text;
  EXPECT_NE(text.find(" 50.0 % |\n| mean |"), text.npos) << text;
  EXPECT_EQ(results::input_error([&] {
              printed({"audit", file, "--torchrec", "hbn=1"});
            }).substr(0, 18),
            "unknown setting of");
  EXPECT_EQ(results::input_error([&] {
              printed({"audit", file_with("unpredicted.jsonl", 0)});
            }),
            (folder / "unpredicted.jsonl").string() +
                ": no workload has two predicted plans that can be made again and that TorchRec and HugeCTR price");
}

}  // namespace
}  // namespace shardmark::workloads
