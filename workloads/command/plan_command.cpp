// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "comm/placement/formats/plan_file.hpp"
#include "comm/placement/support.hpp"
#include "reference/error.hpp"
#include "reference/output_file.hpp"
#include "workloads/cases/spec.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/launcher.hpp"
#include "workloads/command/plan_commands.hpp"
#include "workloads/command/quantity.hpp"

namespace shardmark::workloads {
namespace {

struct Options {
  std::string workload;
  std::string scale = "1";
  std::string plan;  ///< file
  std::optional<int> ranks;
  PlanOutput output;
  std::string strict;
  std::optional<std::uint64_t> memory;
  std::optional<std::int64_t> global_batch;
};

void check_file(const Options& options, const Workload& workload) {
  placement::PlanFileCheck expected{.tables = workload.tables,
                                    .features = workload.features,
                                    .ranks = options.ranks,
                                    .global_batch = options.global_batch,
                                    .scale = workload.scale,
                                    .hugectr_limits = options.strict == "hugectr"};
  if (options.memory) expected.bytes_per_rank = static_cast<std::int64_t>(*options.memory);
  auto problems = placement::check_plan_file(options.plan, expected);
  if (problems.empty())
    problems =
        placement::unsupported(placement::read_plan(options.plan, workload.tables, workload.features, workload.scale),
                               workload.tables, workload.features, {.transfer = placement::RowTransfer::automatic});
  for (const std::string& problem : problems) fmt::print(stderr, "{}\n", problem);
  if (!problems.empty())
    throw InputError(fmt::format("{}: {} problem{} for {}", options.plan, problems.size(),
                                 problems.size() == 1 ? "" : "s", workload.name));
  fmt::print("{}: sound for {}\n", options.plan, workload.name);
}

void convert(const Options& options, const Workload& workload) {
  options.output.require_writable();
  write_plan(options.output, workload,
             placement::read_plan(options.plan, workload.tables, workload.features, workload.scale));
}

using Shared = std::shared_ptr<Options>;

/// Adds a subcommand on WORKLOAD that runs `action` with its options.
CLI::App& add(CLI::App& app, const char* name, const char* description, const Shared& options,
              void (*action)(const Options&, const Workload&)) {
  CLI::App& command = *app.add_subcommand(name, description);
  command.add_option("WORKLOAD", options->workload, "built-in workload, or a spec file (.json)")->required();
  command.add_option("--scale", options->scale, "divide the rows of every table, such as 1/64")->capture_default_str();
  command.callback([options, action] { action(*options, load_workload(options->workload, options->scale)); });
  return command;
}

CLI::Option* add_ranks(CLI::App& command, const Shared& options, const char* description) {
  return command.add_option("--ranks", options->ranks, description)->check(CLI::Range(1, placement::largest_job));
}

void define_check(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = add(app, "check", "list every problem of a plan file; exit 2 if any", options, check_file);
  command.add_option("FILE", options->plan, "plan file, ours, HugeCTR's or TorchRec's")->required();
  add_ranks(command, options, "ranks that the plan must be for");
  as_bytes(command.add_option("--memory", options->memory,
                              "bytes a rank has for tables and optimizer state, such as 16GB (10^9) or 16GiB (2^30)"));
  command.add_option("--batch", options->global_batch, "samples that must divide by the ranks")
      ->check(CLI::PositiveNumber);
  command.add_option("--strict", options->strict, "hugectr: also what only HugeCTR refuses or cannot express")
      ->check(CLI::IsMember({"hugectr"}));
}

void define_convert(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = add(app, "convert", "write a plan file in another format", options, convert);
  command.add_option("FILE", options->plan, "plan file, ours, HugeCTR's or TorchRec's")->required();
  add_plan_output(command, options->output);
}

/// Reads what is about to be written, and throws where it is another plan: then there is a defect.
void require_same(const placement::Plan& plan, const std::string& text, const std::string& out,
                  const Workload& workload) {
  const placement::Plan again = placement::plan_in_text(text, out, workload.tables, workload.features);
  if (again.ranks != plan.ranks ||
      placement::loads_of(again, workload.tables) != placement::loads_of(plan, workload.tables))
    throw std::runtime_error("the plan would be another one when it is read again; this is a defect, please report it");
}

}  // namespace

void PlanOutput::require_writable() const {
  if (file.empty()) return;
  require_alone("plan");
  require_new(file, force);
}

void write_plan(const PlanOutput& output, const Workload& workload, const placement::Plan& plan) {
  const std::string text = choice_named(placement::plan_formats, "plan format", output.format)
                               .text(plan, workload.tables, workload.features);
  require_same(plan, text, output.file, workload);
  if (output.file.empty()) {
    fmt::print("{}", text);
    return;
  }
  write_file(output.file, text);
  fmt::print(stderr, "wrote {}\n", output.file);
}

void add_plan_output(CLI::App& command, PlanOutput& output) {
  command.add_option("--to", output.format, described("format", placement::plan_formats))->capture_default_str();
  command.add_option("--out", output.file, "write to this file instead of the screen");
  add_force(command, output.force);
}

void define_plan(CLI::App& app) {
  app.require_subcommand(1);
  define_plan_create(app);
  define_plan_show(app);
  define_check(app);
  define_convert(app);
}

}  // namespace shardmark::workloads
