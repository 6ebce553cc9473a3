// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "results/json_lines.hpp"
#include "results/table/register_page.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/printing.hpp"

namespace shardmark::workloads {
namespace {

struct ShowArguments {
  std::vector<std::string> files;
  Printing printing;
};

/// Reads every file before it prints, so that bad input leaves no half an answer.
void show(const ShowArguments& arguments) {
  std::vector<results::Results> all;
  for (const std::string& file : arguments.files) all.push_back(results::read_any_results(file));
  std::vector<results::Report> reports;
  bool valid = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    reports.push_back(results::report_of(all[i], arguments.files[i]));
    valid = valid && results::is_right(reports.back());
  }
  print_results(reports, arguments.printing, stdout_is_terminal(false));
  if (!valid) throw Failure();
}

struct RegisterArguments {
  std::string registered;
  std::vector<std::string> measured;
};

void hold_against(const RegisterArguments& arguments) {
  const results::Registered registered = results::read_registered(arguments.registered);
  std::vector<results::MeasuredFile> measured;
  for (const std::string& file : arguments.measured) measured.push_back({file, results::read_results(file)});
  const results::RegisterPage page = results::register_page(registered, arguments.registered, measured);
  fmt::print("{}", page.text);
  if (page.matched > 0) return;
  fmt::print(stderr, "shardmark: {}: no file has a case that it predicts\n", arguments.registered);
  throw Failure{3};
}

void define_results_register(CLI::App& app) {
  const auto arguments = std::make_shared<RegisterArguments>();
  app.add_option("FILE", arguments->registered, "file of shardmark predict --register")->required();
  app.add_option("MEASURED", arguments->measured, "results files (.jsonl) of run and compare")->required();
  app.footer(described("A prediction is", results::standings) +
             "\nExit code: 0 a file has a case that was predicted, 2 bad input, or FILE was changed, 3 none has.");
  app.callback([arguments] { hold_against(*arguments); });
}

}  // namespace

void define_results(CLI::App& app) {
  app.require_subcommand(1);
  CLI::App* command = app.add_subcommand("show",
                                         "print what files of results hold: cases, exchanges, benchmarks; launches on "
                                         "several numbers of ranks as one table");
  const auto arguments = std::make_shared<ShowArguments>();
  command
      ->add_option("FILE", arguments->files,
                   "results files (.jsonl), what a run left behind (.jsonl.partial), or Google Benchmark's (.json)")
      ->required();
  add_printing(*command, arguments->printing);
  command->callback([arguments] { show(*arguments); });
  define_results_plot(*app.add_subcommand("plot", "draw cases, scaling or predictions (needs Python with matplotlib)"));
  define_results_register(
      *app.add_subcommand("register", "hold registered predictions against what was measured later"));
  define_results_audit(*app.add_subcommand(
      "audit", "rate what was predicted of measured plans beside TorchRec's estimate and HugeCTR's cost"));
  define_results_diff(
      *app.add_subcommand("diff", "compare launches of two programs; exit code 1 when a case got worse"));
  define_results_floors(*app.add_subcommand("floors", "the smallest changes that launches of one program can show"));
}

}  // namespace shardmark::workloads
