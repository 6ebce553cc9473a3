// SPDX-License-Identifier: Apache-2.0
// One entry in the table of options is all that a new option needs: it is then found wherever people meet options.
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "comm/session.hpp"
#include "datasets/hdf5.hpp"
#include "results/launch.hpp"
#include "results/results_table.hpp"
#include "workloads/cases/option_entry.hpp"
#include "workloads/command/case_arguments.hpp"
#include "workloads/command/command.hpp"
#include "workloads/measure/export.hpp"
#include "workloads/measure/measure.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"

namespace shardmark::workloads {

namespace {
std::vector<GivenOption> given;
}

/// Stands for the one of the program, so that the command line ends here.
void run_cases(const CaseArguments& arguments) { given = arguments.given(); }

namespace {

class AddedOptions : public testing::Test {
 protected:
  void SetUp() override {
    if (comm::Communicator(MPI_COMM_WORLD).size() > 1) GTEST_SKIP() << "one rank shows it";
  }

  /// Its behaviour is that of --dedup.
  AddedOption added_{
      option_of(OptionGroup::movement, "throw_away", "an option of this test", &placement::Movement::dedup)};
  RunOptions run_ = one_small_table();
  std::vector<Case> cases_{Case{}};
  const nlohmann::ordered_json nothing_ = nlohmann::ordered_json::object();

  static std::string printed(void (*define)(CLI::App&), const std::string& arguments) {
    CLI::App app;
    define(app);
    testing::internal::CaptureStdout();
    app.parse(arguments);
    return testing::internal::GetCapturedStdout();
  }

  std::vector<results::CaseRecord> measured() {
    const comm::Communicator world(MPI_COMM_WORLD);
    const std::vector<PlannedTables> plans{{plan_of("row_wise", run_, world.size()), run_}};
    std::vector<PlannedCase> planned;
    for (const Case& config : cases_) planned.push_back({0, config});
    const auto batches = make_batch_source(run_, [](const std::string&) {});
    return measure(
               {world, run_, plans, planned}, *batches, [](const std::string&) {}, [](const Measured&) {})
        .records;
  }
};

TEST_F(AddedOptions, is_listed) {
  const std::string text = printed(define_list, "options");
  EXPECT_NE(text.find("  throw_away                 an option of this test: auto, off, local, "), text.npos) << text;
}

TEST_F(AddedOptions, is_on_the_command_line_of_compare_and_tells_cases_apart) {
  printed(define_compare, "criteo-kaggle --throw-away auto,off --set throw_away=off,local");
  ASSERT_EQ("throw_away", given.back().option->name);
  set_options(run_, cases_, given);
  EXPECT_NE(cases_[0].name().find(", throw_away off"), std::string::npos) << cases_[0].name();
  EXPECT_NE(cases_[1].name().find(", throw_away local"), std::string::npos) << cases_[1].name();
}

TEST_F(AddedOptions, is_in_record_table_and_identity) {
  run_.steps = 2;
  set_options(run_, cases_, {given_setting("throw_away=off,local", true)});
  const std::vector<results::CaseRecord> records = measured();
  ASSERT_EQ(2u, records.size());
  EXPECT_EQ("off", records[0].options.at("throw_away"));
  EXPECT_NE(std::ranges::find(records[0].changed, "throw_away"), records[0].changed.end());
  EXPECT_NE(results::results_table(nothing_, records).find(" throw_away "), std::string::npos)
      << results::results_table(nothing_, records);
  std::vector<results::CaseRecord> read;
  for (const results::CaseRecord& record : records)
    read.push_back(results::case_record_from_json(results::to_json(record), "a:1"));
  const results::Launch launch = results::launch_of({nothing_, read}, "a");
  ASSERT_EQ(2u, launch.cases.size());
  EXPECT_NE(launch.cases[0].name.find("/throw_away:off/"), std::string::npos) << launch.cases[0].name;
  EXPECT_NE(launch.cases[1].name.find("/throw_away:local/"), std::string::npos) << launch.cases[1].name;
}

TEST_F(AddedOptions, is_in_the_export) {
  const comm::Communicator world(MPI_COMM_WORLD);
  set_options(run_, cases_, {given_setting("throw_away=local")});
  const auto batches = make_batch_source(run_, [](const std::string&) {});
  const std::string file =
      std::filesystem::path(testing::TempDir()) / ("throw_away" + std::to_string(getpid()) + ".h5");
  export_step(world, run_, plan_of("row_wise", run_, world.size()), cases_.front(), *batches, file);
  if (world.rank() != 0) return;
  const auto options = nlohmann::json::parse(datasets::hdf5::File::open(file).read_string("/", "case"));
  std::filesystem::remove(file);
  EXPECT_EQ("local", options.at("throw_away"));
  for (const char* name : {"transfer", "dedup", "groups", "group_balance", "replicated_gradients", "dtype", "hotness"})
    EXPECT_TRUE(options.contains(name)) << name;
}

}  // namespace
}  // namespace shardmark::workloads
