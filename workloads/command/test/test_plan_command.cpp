// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "comm/placement/formats/plan_file.hpp"
#include "comm/placement/planner.hpp"
#include "reference/error.hpp"
#include "workloads/cases/spec.hpp"
#include "workloads/command/case_arguments.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/shared_processors.hpp"

namespace shardmark::workloads {

void run_cases(const CaseArguments&) {}  // what `run` would do

namespace {

struct Outcome {
  std::string out;
  std::string err;
  std::string error;  ///< of the InputError or the parser
};

/// Runs `shardmark plan <arguments>`.
Outcome plan_command(std::vector<std::string> arguments) {
  CLI::App app;
  define_plan(app);
  std::ranges::reverse(arguments);
  Outcome outcome;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    app.parse(arguments);
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class PlanCommand : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

 private:
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "shardmark_plan_command";
};

TEST_F(PlanCommand, create_prints_or_writes_the_plan) {
  const auto workload = load_workload("hugectr-dlrm");
  const placement::Plan plan = placement::make_plan("column_wise", workload.tables, workload.features, {.ranks = 5});
  const Outcome printed = plan_command({"create", "hugectr-dlrm", "--plan", "column_wise", "--ranks", "5"});
  EXPECT_EQ(printed.error, "");
  EXPECT_EQ(printed.out, placement::plan_to_json(plan, workload.tables));
  const Outcome written =
      plan_command({"create", "hugectr-dlrm", "--plan", "column_wise", "--ranks", "5", "--out", path("p.json")});
  EXPECT_EQ(written.error, "");
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(placement::read_plan(path("p.json"), workload.tables, workload.features), plan);
}

TEST_F(PlanCommand, scale_and_replicate_rows_change_the_plan) {
  auto workload = load_workload("hugectr-dlrm");
  scale_rows(workload, 64);
  const placement::Plan plan = placement::make_plan("data_parallel+table_wise", workload.tables, workload.features,
                                                    {.ranks = 2, .replicate_rows = 100});
  EXPECT_EQ(plan_command({"create", "hugectr-dlrm", "--plan", "data_parallel+table_wise", "--ranks", "2", "--scale",
                          "1/64", "--replicate-rows", "100"})
                .out,
            placement::plan_to_json(plan, workload.tables));
}

TEST_F(PlanCommand, converted_plans_check_and_show) {
  for (const placement::PlanFormat& format : placement::plan_formats) {
    SCOPED_TRACE(format.name);
    const std::string name(format.name);
    EXPECT_EQ(plan_command({"create", "hugectr-dlrm", "--plan", "table_wise", "--ranks", "9", "--out", path("a.json"),
                            "--force"})
                  .error,
              "");
    EXPECT_EQ(
        plan_command({"convert", "hugectr-dlrm", path("a.json"), "--to", name, "--out", path("b.json"), "--force"})
            .error,
        "");
    EXPECT_EQ(plan_command({"convert", "hugectr-dlrm", path("b.json"), "--out", path("c.json"), "--force"}).error, "");
    const auto workload = load_workload("hugectr-dlrm");
    EXPECT_EQ(placement::read_plan(path("a.json"), workload.tables, workload.features).tables,
              placement::read_plan(path("c.json"), workload.tables, workload.features).tables);
    const Outcome checked = plan_command(
        {"check", "hugectr-dlrm", path("b.json"), "--ranks", "9", "--strict", "hugectr", "--memory", "1G"});
    EXPECT_EQ(checked.error, "");
    EXPECT_EQ(checked.out, path("b.json") + ": sound for hugectr-dlrm\n");
    EXPECT_TRUE(contains(plan_command({"show", "hugectr-dlrm", path("b.json")}).out, "fullest rank 0"));
  }
}

TEST_F(PlanCommand, check_lists_the_rules_that_are_broken) {
  const auto checked = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"check", "hugectr-dlrm", path("p.json")});
    return plan_command(options);
  };
  plan_command({"create", "hugectr-dlrm", "--plan", "data_parallel+table_wise", "--ranks", "17", "--to",
                "hugectr-notebook", "--out", path("p.json")});
  EXPECT_EQ(checked({}).error, "");
  const Outcome strict = checked({"--strict", "hugectr"});
  EXPECT_EQ(strict.error, path("p.json") + ": 1 problem for hugectr-dlrm");
  EXPECT_TRUE(contains(strict.err, path("p.json") + ": rule 10 (HugeCTR only): rank 15, group 0:")) << strict.err;
  const Outcome missed = checked({"--ranks", "8", "--memory", "1M", "--batch", "65536"});
  EXPECT_TRUE(contains(missed.err, ": rule 14: ")) << missed.err;
  EXPECT_TRUE(contains(missed.err, ": rule 19: ")) << missed.err;
  EXPECT_TRUE(contains(missed.error, "2 problems")) << missed.error;
  EXPECT_TRUE(contains(checked({"--memory", "1M"}).err, ": rule 18: rank 0: "));
}

TEST_F(PlanCommand, show_predicts_for_a_machine_as_the_options_say) {
  const auto shown = [](std::vector<std::string> options) {
    options.insert(options.begin(), {"show", "synthetic-tiny", "row_wise", "--ranks", "16", "--format", "json"});
    const Outcome outcome = plan_command(options);
    EXPECT_EQ(outcome.error, "");
    return nlohmann::json::parse(outcome.out);
  };
  const auto usual = shown({"--transfer", "dense_partials"});
  EXPECT_EQ(usual.at("machine"), "cpu-100g");
  EXPECT_FALSE(usual.at("machine_measured"));
  EXPECT_EQ(usual.at("per_rank").size(), 16U);
  EXPECT_EQ(usual.at("tables").size(), 55U);
  EXPECT_EQ(usual.at("slowest_rank").at("rank"), 0);  // the hottest rows are its
  const auto step = [](const nlohmann::json& json) { return json.at("step_ms").get<double>(); };
  EXPECT_LT(step(shown({"--transfer", "dense_partials", "--machine", "dgx-a100"})), step(usual) / 2);
  EXPECT_GT(step(shown({"--transfer", "dense_partials", "--batch", "131072"})), 1.5 * step(usual));
  EXPECT_NE(step(shown({"--transfer", "unique_rows"})), step(usual));
  EXPECT_LT(step(shown({})), step(usual));  // auto
  EXPECT_NE(step(shown({"--transfer", "dense_partials", "--ranks-per-node", "1"})), step(usual));
  EXPECT_LT(shown({"--ids.distribution", "uniform"}).at("per_rank")[0].at("ids_per_sample"),
            usual.at("per_rank")[0].at("ids_per_sample"));
}

TEST_F(PlanCommand, show_says_what_it_assumes) {
  const Outcome shown = plan_command(
      {"show", "criteo-kaggle", "table_wise", "--ranks", "40", "--scale", "1/64", "--machine", "dgx-a100"});
  EXPECT_EQ(shown.error, "");
  EXPECT_EQ(shown.out.rfind("# criteo-kaggle at 1/64, batch 16384, ids: power law 1.05; auto mpi_alltoallv\n"
                            "# predicted, not measured: for machine dgx-a100 (",
                            0),
            0U)
      << shown.out;
  EXPECT_TRUE(contains(shown.out, "), 8 ranks a node\nplan 'table_wise' for 40 ranks, 26 tables\n")) << shown.out;
  EXPECT_TRUE(contains(shown.out, "\n14 of the ranks hold nothing: 26-39\n")) << shown.out;
}

TEST_F(PlanCommand, show_says_what_does_not_fit) {
  const auto last_line = [](const char* memory) {
    const std::string out =
        plan_command({"show", "criteo-kaggle", "table_wise", "--ranks", "2", "--memory", memory}).out;
    return out.substr(out.rfind('\n', out.size() - 2) + 1);
  };
  EXPECT_TRUE(contains(last_line("1M"), "does not fit: rank 0 needs ")) << last_line("1M");
  EXPECT_TRUE(contains(last_line("1M"), "(and 1 more rank of it)")) << last_line("1M");
  EXPECT_FALSE(contains(last_line("1T"), "does not fit")) << last_line("1T");
}

/// 1 GB is 10^9 bytes and 1 GiB 2^30: what needs a number between them fits the latter alone.
TEST_F(PlanCommand, sizes_are_decimal_unless_they_say_binary) {
  const auto text = [](const char* memory) {
    return plan_command({"show", "criteo-kaggle", "table_wise", "--ranks", "2", "--memory", memory}).out;
  };
  EXPECT_EQ(text("2GB"), text("2000000000"));
  EXPECT_EQ(text("2G"), text("2000000000"));
  EXPECT_EQ(text("2GiB"), text("2147483648"));
  EXPECT_EQ(text("3MiB"), text("3145728"));
  EXPECT_TRUE(contains(text("1208MB"), "does not fit"));  // 1.266 GB are needed
  EXPECT_FALSE(contains(text("1208MiB"), "does not fit"));
}

TEST_F(PlanCommand, create_tells_planners_of_nodes) {
  const auto created = [](const char* per_node) {
    return plan_command({"create", "synthetic-tiny", "--plan", "hugectr_table_row_wise", "--ranks", "8",
                         "--ranks-per-node", per_node})
        .out;
  };
  EXPECT_NE(created("2"), created("4"));
  EXPECT_FALSE(created("2").empty());
}

TEST_F(PlanCommand, bad_input_is_refused) {
  EXPECT_TRUE(contains(plan_command({"create", "none", "--plan", "row_wise", "--ranks", "2"}).error, "none"));
  EXPECT_TRUE(contains(plan_command({"create", "hugectr-dlrm", "--plan", "rows", "--ranks", "2"}).error,
                       "unknown planner 'rows'; did you mean 'hot_rows'? valid: data_parallel, "));
  EXPECT_FALSE(plan_command({"create", "hugectr-dlrm", "--plan", "row_wise", "--ranks", "0"}).error.empty());
  EXPECT_FALSE(plan_command({"create", "hugectr-dlrm", "--plan", "row_wise"}).error.empty());
  EXPECT_EQ(plan_command({"show", "hugectr-dlrm", "row_wise"}).error, "planner 'row_wise' needs --ranks");
  const auto refusal = [](const char* option, const char* value) {
    return plan_command({"show", "hugectr-dlrm", "row_wise", "--ranks", "2", option, value}).error;
  };
  EXPECT_TRUE(contains(refusal("--format", "yaml"), "unknown format 'yaml'; valid: text, json"));
  EXPECT_TRUE(contains(refusal("--machine", "laptop"), "laptop"));
  EXPECT_TRUE(contains(refusal("--machine", "none.json"), "none.json"));
  EXPECT_FALSE(refusal("--ranks-per-node", "0").empty());
  EXPECT_TRUE(contains(plan_command({"show", "hugectr-dlrm", path("no.json")}).error, "cannot read"));
  EXPECT_TRUE(contains(plan_command({"check", "hugectr-dlrm", path("no.json")}).err, "cannot read"));
  EXPECT_TRUE(contains(
      plan_command({"create", "hugectr-dlrm", "--plan", "row_wise_block", "--ranks", "2", "--to", "hugectr-v3.8"})
          .error,
      "table 'C1': a HugeCTR plan file cannot express rows 0 to 101966"));
  EXPECT_TRUE(
      contains(plan_command({"create", "hugectr-dlrm", "--plan", "row_wise", "--ranks", "2", "--to", "x"}).error,
               "unknown plan format 'x'; valid: shardmark, hugectr-v3.7, hugectr-notebook, hugectr-v3.8"));
}

/// The two plan files of the notebook for 8 GPUs are those that our planners make.
TEST(HugectrPlans, shipped_files_are_what_the_planners_make) {
  const auto workload = load_workload("hugectr-dlrm");
  const auto shipped = [&](const std::string& name) {
    const auto folder =
        std::filesystem::path(SHARDMARK_TEST_DATA).parent_path().parent_path() / "cases" / "specs" / "plans";
    return placement::read_plan((folder / name).string(), workload.tables, workload.features);
  };
  const auto made = [&](std::string_view planner) {
    return placement::make_plan(planner, workload.tables, workload.features,
                                {.ranks = 8, .replicate_rows = workload.replicate_rows});
  };
  EXPECT_EQ(shipped("hugectr-dlrm-localized-8.json").tables, made("data_parallel+table_wise").tables);
  EXPECT_EQ(shipped("hugectr-dlrm-distributed-8.json").tables, made("row_wise").tables);
  EXPECT_NE(shipped("hugectr-dlrm-distributed-8.json").tables, made("table_wise").tables);
}

TEST(SharedProcessors, AreThoseThatMoreThreadsAskFor) {
  static_assert(share_processors(2, 2, 2, 2));  // two ranks of two threads on two processors
  static_assert(!share_processors(1, 2, 2, 2));
  static_assert(!share_processors(2, 1, 2, 2));
  static_assert(share_processors(2, 2, 1, 2));   // bound to one each
  static_assert(!share_processors(4, 2, 4, 8));  // to half each
}

}  // namespace
}  // namespace shardmark::workloads
