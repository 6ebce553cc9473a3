// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "results/json_lines.hpp"
#include "results/table.hpp"
#include "results/verdict.hpp"
#include "workloads/command/command.hpp"

namespace shardmark {
namespace {

/// Reads every file before it prints, so that bad input leaves no half an answer.
void show(const std::vector<std::string>& files) {
  std::vector<Results> all;
  for (const std::string& file : files) all.push_back(read_results(file));
  bool valid = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all.size() > 1) fmt::print("{}# file {}\n", i > 0 ? "\n" : "", files[i]);
    fmt::print("{}", results_table(all[i].environment, all[i].cases));
    valid = valid && verdict_of(all[i].cases).valid;
  }
  if (!valid) throw Failure();
}

}  // namespace

void define_results(CLI::App& app) {
  app.require_subcommand(1);
  CLI::App* command = app.add_subcommand("show", "print the table and the verdict of results files again");
  const auto files = std::make_shared<std::vector<std::string>>();
  command->add_option("FILE", *files, "results files (.jsonl)")->required();
  command->callback([files] { show(*files); });
  define_results_diff(
      *app.add_subcommand("diff", "compare launches of two programs; exit code 1 when a case got worse"));
}

}  // namespace shardmark
