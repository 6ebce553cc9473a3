// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "workloads/command/case_options.hpp"
#include "workloads/command/command.hpp"

namespace shardmark {

void define_compare(CLI::App& app) {
  const auto arguments = std::make_shared<CaseArguments>();
  arguments->transfers = {"dense_partials"};
  arguments->exchanges = {"all"};
  add_case_options(app, *arguments, true);
  app.add_option("--plan", arguments->plans, "planners or plan files, separated by commas (default: the workload's)")
      ->delimiter(',');
  app.add_option("--transfer", arguments->transfers,
                 "transfers, separated by commas, or all; plans that split no rows are measured with the first")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--exchange", arguments->exchanges, "exchanges, separated by commas, or all")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--dedup", arguments->dedups,
                 "where repeated ids become one, separated by commas (shardmark list dedups)")
      ->delimiter(',')
      ->capture_default_str();
  app.callback([arguments] { run_cases(*arguments); });
}

}  // namespace shardmark
