// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "workloads/command/case_options.hpp"
#include "workloads/command/command.hpp"

namespace shardmark {

void define_run(CLI::App& app) {
  const auto arguments = std::make_shared<CaseArguments>();
  arguments->plans = {"table_wise"};
  arguments->transfers = {"dense_partials"};
  arguments->exchanges = {"mpi_alltoallv"};
  add_case_options(app, *arguments, false);
  app.add_option("--plan", arguments->plans.front(), "planner (shardmark list planners) or plan file")
      ->capture_default_str();
  app.add_option("--transfer", arguments->transfers.front(), "what travels for row-split tables")
      ->capture_default_str();
  app.add_option("--exchange", arguments->exchanges.front(), "how it travels")->capture_default_str();
  app.add_option("--dedup", arguments->dedups.front(), "where repeated ids become one (shardmark list dedups)")
      ->capture_default_str();
  app.add_option("--export", arguments->export_file, "write one whole step to FILE.h5, for others to check");
  app.add_option(
      "--traffic", arguments->traffic_file,
      "write the bytes from rank to rank of one whole step to FILE, and those of each phase to FILE.PHASE, for\n"
      "shardmark exchange --matrix and nccl-tests");
  app.callback([arguments] { run_cases(*arguments); });
}

}  // namespace shardmark
