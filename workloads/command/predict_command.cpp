// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "comm/placement/cost/machine_file.hpp"
#include "reference/error.hpp"
#include "workloads/command/case_arguments.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/machine_options.hpp"
#include "workloads/command/predict/predict_page.hpp"
#include "workloads/command/quantity.hpp"

namespace shardmark::workloads {
namespace {

struct PredictArguments {
  CaseArguments of_case;
  std::vector<int> ranks{1, 8, 64};
  MachineOptions machine;
  std::optional<std::uint64_t> memory;
  std::string scaling = std::string(scaling_choices.front().name);
  bool published = false;
  std::string format = std::string(prediction_formats.front().name);
};

PredictedCases cases_of(const PredictArguments& arguments) {
  PredictedCases cases;
  cases.options.workload = load_workload(arguments.of_case.workload);
  std::vector<Case> config{Case{}};
  set_options(cases.options, config, arguments.of_case.given());
  cases.options = with_storage(cases.options, config.front().storage);
  cases.config = config.front();
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

void predict(const PredictArguments& arguments) {
  PredictedCases cases = cases_of(arguments);
  const MachineOptions& given = arguments.machine;
  if (arguments.published &&
      (!given.links.empty() || !given.latency.empty() || given.ranks_per_node || arguments.memory))
    throw InputError(
        "--published predicts for the machines of those who published; leave out --links, --latency, --ranks-per-node "
        "and --memory");
  if (arguments.published) {
    fmt::print("{}", published_text(std::move(cases)));
    return;
  }
  placement::DataSheet sheet = arguments.machine.sheet();
  if (arguments.memory) sheet.memory = static_cast<double>(*arguments.memory);
  cases.machine = placement::described_machine(placement::named_machine(arguments.machine.machine), sheet).machine;
  const auto& format = choice_named(prediction_formats, "format", arguments.format);
  fmt::print("{}", format.print(cases, predict_plans(cases)));
}

}  // namespace

void define_predict(CLI::App& app) {
  const auto arguments = std::make_shared<PredictArguments>();
  add_case(app, arguments->of_case, "dense");
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
  app.add_flag("--published", arguments->published,
               "instead, what others published of the workload beside predictions for the machines that they had");
  app.add_option("--format", arguments->format, described("format", prediction_formats))->capture_default_str();
  app.callback([arguments] { predict(*arguments); });
}

}  // namespace shardmark::workloads
