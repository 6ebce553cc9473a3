// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "reference/error.hpp"
#include "results/json_lines.hpp"
#include "results/table.hpp"
#include "results/test/sample_records.hpp"
#include "workloads/command/command.hpp"

namespace shardmark {
namespace {

class ResultsCommand : public FolderTest {
 protected:
  /// Writes a results file of one case and returns its path.
  std::string file_with(const std::string& name, std::int64_t wrong) const {
    CaseRecord record = sample_case("table_wise", 10.0);
    record.wrong = wrong;
    JsonLinesWriter writer(folder / name, sample_environment());
    writer.append(record);
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
  EXPECT_EQ(printed({"show", file}), results_table(sample_environment(), read_results(file).cases));
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
  EXPECT_EQ(input_error([&] {
              printed({"show", good, "absent.jsonl"});
            }),
            "cannot read absent.jsonl; name a results file (.jsonl)");
}

TEST_F(ResultsCommand, a_file_is_required) {
  EXPECT_THROW(printed({}), CLI::RequiredError);
  EXPECT_THROW(printed({"show"}), CLI::RequiredError);
}

}  // namespace
}  // namespace shardmark
