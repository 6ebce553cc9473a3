// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "comm/placement/cost/machine_file.hpp"
#include "reference/error.hpp"
#include "reference/output_file.hpp"
#include "results/prediction_quality.hpp"
#include "workloads/command/case_arguments.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/machine_options.hpp"
#include "workloads/command/predict/predict_page.hpp"
#include "workloads/command/predict/published_page.hpp"
#include "workloads/command/predict/registration.hpp"
#include "workloads/command/quantity.hpp"

namespace shardmark::workloads {
namespace {

struct PredictArguments {
  CaseArguments of_case;
  std::vector<int> ranks{1, 8, 64};
  MachineOptions machine;
  std::optional<std::uint64_t> memory;
  std::string scaling = std::string(scaling_choices.front().name);
  const CLI::Option* published = nullptr;
  std::vector<std::string> published_files;  ///< of it; without any an empty text, or none
  std::string format = std::string(prediction_formats.front().name);
  bool explains = false;
  std::vector<std::string> without;  ///< terms and parts of the model
  std::string registered;            ///< file; empty: none
  std::string within = fmt::format("{:g}%", 100.0 * results::usual_claim);
};

PredictedCases cases_of(const PredictArguments& arguments) {
  RunOptions options;
  options.workload = load_workload(arguments.of_case.workload);
  placement::DataSheet sheet = arguments.machine.sheet();
  if (arguments.memory) sheet.memory = static_cast<double>(*arguments.memory);
  placement::MachineModel machine =
      placement::described_machine(placement::named_machine(arguments.machine.machine), sheet).machine;
  machine = without_all(std::move(machine), arguments.without);
  std::vector<GivenOption> given = options_of(machine.software);
  for (const GivenOption& option : arguments.of_case.given()) given.push_back(option);
  PredictedCases cases = cases_with(std::move(options), given);
  cases.machine = std::move(machine);
  if (cases.options.workload.tables.empty())
    throw InputError(cases.options.workload.name + ": the workload has no tables to predict");
  cases.ranks = arguments.ranks;
  std::ranges::sort(cases.ranks);
  cases.ranks.erase(std::ranges::unique(cases.ranks).begin(), cases.ranks.end());
  cases.scalings = choice_named(scaling_choices, "scaling", arguments.scaling).scalings;
  if (cases.ranks.size() == 1) cases.scalings.resize(1);  // they do not differ
  cases.plans = arguments.of_case.plans.empty() ? cases.options.workload.plans : arguments.of_case.plans;
  if (cases.plans.empty()) throw InputError(cases.options.workload.name + ": the spec names no plans; use --plan");
  return cases;
}

/// Prints what was published of the workload, or of each file.
void print_published_steps(const PredictArguments& arguments) {
  std::vector<std::string> files = arguments.published_files;
  std::erase(files, "");
  const std::string& workload = arguments.of_case.workload;
  if (files.empty()) {
    fmt::print("{}", published_text(load_workload(workload), arguments.of_case.given(), arguments.without));
    return;
  }
  if (!workload.empty())
    throw InputError(
        fmt::format("--published {}: the file says which workloads; leave out {}", files.front(), workload));
  std::string text;
  for (const std::string& file : files) text += published_file_text(file, arguments.of_case.given(), arguments.without);
  fmt::print("{}", text);
}

void predict(const PredictArguments& arguments) {
  const bool of_files = std::ranges::any_of(arguments.published_files, [](const auto& file) { return !file.empty(); });
  if (arguments.of_case.workload.empty() && !of_files) throw CLI::RequiredError("WORKLOAD");
  if (arguments.published->count() > 0) return print_published_steps(arguments);
  const std::string& file = arguments.registered;
  const double within = share_of("--within", arguments.within);
  if (!file.empty()) require_new(file, arguments.of_case.force);
  const PredictedCases cases = cases_of(arguments);
  const auto& format = choice_named(prediction_formats, "format", arguments.format);
  const std::vector<PredictedPlan> predicted = predict_plans(cases);
  if (!file.empty()) write_file(file, results::to_json(registration(cases, predicted, within)).dump(1) + "\n");
  fmt::print("{}", format.print(cases, predicted));
  if (arguments.explains) fmt::print("{}", explanation(predicted));
}

}  // namespace

void define_predict(CLI::App& app) {
  const auto arguments = std::make_shared<PredictArguments>();
  add_case(app, arguments->of_case, "dense");
  app.get_option("WORKLOAD")->required(false);
  app.add_option("--ranks", arguments->ranks, "counts of ranks, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(1, placement::largest_job))
      ->capture_default_str();
  add_machine_options(app, arguments->machine);
  as_bytes(app.add_option("--memory", arguments->memory,
                          "memory of a rank, such as 80GB (10^9) or 80GiB (2^30) (default: the machine's)"));
  app.add_option("--scaling", arguments->scaling,
                 described("how the batch follows the ranks, from that of the fewest on", scaling_choices))
      ->capture_default_str();
  app.add_option("--plan", arguments->of_case.plans,
                 "planners or plan files, separated by commas (default: the workload's)")
      ->delimiter(',');
  app.add_option("--format", arguments->format, described("format", prediction_formats))->capture_default_str();
  app.add_flag("--explain", arguments->explains,
               "below, what each step spends its time on: the parts of its graph, which of them are on the critical "
               "path, and the largest terms of each; text only, JSON has them anyway");
  app.add_option(
         "--without", arguments->without,
         "predict as if these terms took no time (shardmark list terms), or parts of the model were not there: what "
         "is each worth?")
      ->delimiter(',')
      ->type_name("NAMES");
  CLI::Option* published = app.add_option(
      "--published", arguments->published_files,
      "instead, what others published of the workload beside predictions for the machines that they had; without a "
      "workload the steps of FILES (.json), or of a list that is built in (shardmark list published), and how far "
      "predictions of them are off");
  published->expected(0, -1)->type_name("FILES");
  arguments->published = published;
  for (const char* other : {"--ranks", "--machine", "--links", "--latency", "--ranks-per-node", "--memory", "--scaling",
                            "--plan", "--format", "--explain"})
    app.get_option(other)->excludes(published);
  CLI::Option* registers =
      app.add_option("--register", arguments->registered,
                     "write plans, machine, workload, predictions, commit and time to FILE, to be held against "
                     "measurements that come later (shardmark results register)")
          ->type_name("FILE")
          ->excludes(published);
  app.add_option("--within", arguments->within, "the error that the registered predictions state, as 25% or 0.25")
      ->needs(registers)
      ->capture_default_str();
  add_force(app, arguments->of_case.force);
  app.get_option("--force")->needs(registers);
  app.callback([arguments] { predict(*arguments); });
}

}  // namespace shardmark::workloads
