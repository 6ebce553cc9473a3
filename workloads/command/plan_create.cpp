// SPDX-License-Identifier: Apache-2.0
// `plan create` and `plan show`: plans for a workload as it is run, on a machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "comm/placement/cost/machine_file.hpp"
#include "comm/placement/formats/plan_file.hpp"
#include "comm/placement/idle_ranks.hpp"
#include "comm/placement/memory_fit.hpp"
#include "comm/placement/named_plan.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/show.hpp"
#include "comm/placement/support.hpp"
#include "reference/error.hpp"
#include "reference/named.hpp"
#include "workloads/batches/workload_statistics.hpp"
#include "workloads/cases/placement_inputs.hpp"
#include "workloads/command/case_arguments.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/machine_options.hpp"
#include "workloads/command/plan_commands.hpp"
#include "workloads/command/quantity.hpp"

namespace shardmark::workloads {
namespace {

struct PlanArguments {
  CaseArguments of_case;
  std::string plan;  ///< planner, or of show a file
  std::optional<int> ranks;
  std::optional<std::uint64_t> memory;
  MachineOptions machine;
  std::string format;  ///< of show
  PlanOutput output;   ///< of create
};

void say(const std::string& text) { fmt::print(stderr, "shardmark: {}\n", text); }

/// A workload as it is run, and the machine that plans of it are for.
struct PlanSubject {
  RunOptions run;
  Case config;
  placement::MachineModel machine;
  std::optional<std::uint64_t> memory;

  explicit PlanSubject(const PlanArguments& arguments) : machine(arguments.machine.chosen()), memory(arguments.memory) {
    run.workload = load_workload(arguments.of_case.workload);
    std::vector<Case> cases{Case{}};
    set_options(run, cases, arguments.of_case.given());
    config = cases.front();
    run = with_storage(std::move(run), config.storage);
  }

  void share_batch(int ranks) { workloads::share_batch(run.workload, ranks); }
  const Workload& workload() const { return run.workload; }
  int per_node(int ranks) const {
    const int most = machine.ranks_per_node;
    return most > 0 ? std::min(most, ranks) : ranks;
  }

  placement::PlanRequest request(int ranks) const {
    placement::PlanRequest request = plan_request_of(workload(), ranks, config.movement);
    request.ids = id_statistics_of(workload(), run.data, say);
    request.ranks_per_node = per_node(ranks);
    request.machine = &machine;
    if (memory) request.memory = static_cast<std::int64_t>(*memory);
    return request;
  }
};

placement::PlanFacts facts_of(const PlanSubject& planned, const placement::Plan& plan) {
  const Workload& workload = planned.workload();
  const int per_node = planned.per_node(plan.ranks);
  placement::require_known(planned.machine, (plan.ranks + per_node - 1) / per_node);
  const placement::LookupStatistics statistics = lookup_statistics_of(workload, planned.run.data, say);
  return placement::facts_of(step_context_of(statistics, workload, plan, planned.config, per_node, DenseKind::none),
                             planned.machine, plan);
}

/// Says by how much a plan that a format can express is slower than one that need not be.
void say_cost(const PlanSubject& planned, const PlanArguments& arguments, const placement::PlanRequest& request,
              const placement::Plan& plan) {
  const Workload& workload = planned.workload();
  placement::PlanRequest any = request;
  any.remarks = nullptr;
  const placement::Plan other = placement::make_plan(arguments.plan, workload.tables, workload.features, any);
  const double kept = facts_of(planned, plan).step.seconds, free = facts_of(planned, other).step.seconds;
  const double percent = 100.0 * (kept / free - 1.0);
  say(fmt::format("keeping to what {} can express costs {}: {:.4g} ms predicted, {:.4g} ms without",
                  arguments.output.format, percent < 0.05 ? "nothing" : fmt::format("{:.1f} % of a step", percent),
                  1e3 * kept, 1e3 * free));
}

/// A search keeps to what the format of the file can express, unless it is told what it may do.
std::string planner_for(const PlanArguments& arguments) {
  const bool keeps =
      choice_named(placement::plan_formats, "plan format", arguments.output.format).options_of_search.empty() ||
      (arguments.plan != "search" && !arguments.plan.starts_with("search:")) ||
      arguments.plan.find("format=") != std::string::npos || arguments.plan.find("options=") != std::string::npos;
  return keeps ? arguments.plan : fmt::format("{}:format={}", arguments.plan, arguments.output.format);
}

void create(const PlanArguments& arguments) {
  arguments.output.require_writable();
  PlanSubject planned(arguments);
  planned.share_batch(arguments.ranks.value());
  const Workload& workload = planned.workload();
  std::vector<std::string> remarks;
  placement::PlanRequest request = planned.request(arguments.ranks.value());
  request.remarks = &remarks;
  const std::string planner = planner_for(arguments);
  const placement::Plan plan = placement::make_plan(planner, workload.tables, workload.features, request);
  placement::require_supported(plan, workload.tables, workload.features, planned.config.movement);
  if (planned.memory) placement::require_fit(plan, workload.tables, static_cast<double>(*planned.memory));
  write_plan(arguments.output, workload, plan);
  if (const std::string idle = placement::idle_ranks_text(plan); !idle.empty()) say(idle);
  for (const std::string& remark : remarks) say(fmt::format("{}: {}", arguments.plan, remark));
  if (planner != arguments.plan) say_cost(planned, arguments, request, plan);
}

placement::Plan plan_to_show(const PlanArguments& arguments, const PlanSubject& planned) {
  const Workload& workload = planned.workload();
  if (arguments.ranks)
    return placement::named_plan(arguments.plan, workload.tables, workload.features, planned.request(*arguments.ranks));
  if (placement::names_planner(arguments.plan))
    throw InputError(fmt::format("planner '{}' needs --ranks", arguments.plan));
  return placement::read_plan(arguments.plan, workload.tables, workload.features, workload.scale);
}

std::string heading(const PlanSubject& planned, int ranks) {
  const Workload& workload = planned.workload();
  const IdSpec& ids = workload.ids;
  std::string law = ids.distribution == IdDistribution::power_law ? fmt::format("power law {}", ids.alpha)
                                                                  : std::string(name_of(ids.distribution));
  if (ids.fresh > 0.0) law += fmt::format(", {:.3g} % of the keys of a batch new", 100.0 * ids.fresh);
  if (ids.half_life > 0) law += fmt::format(", half of the keys dead after {} batches", ids.half_life);
  return fmt::format(
      "# {}{}, batch {}, ids: {}; {}\n"
      "# predicted, not measured: for machine {} ({}), {} ranks a node\n",
      workload.name, workload.scale > 1 ? fmt::format(" at 1/{}", workload.scale) : "", workload.global_batch,
      planned.run.data.file.empty() ? law : planned.run.data.file, planned.config.name(), planned.machine.name,
      planned.machine.source, planned.per_node(ranks));
}

nlohmann::ordered_json heading_json(const PlanSubject& planned, int ranks) {
  const Workload& workload = planned.workload();
  return {{"workload", workload.name},
          {"scale", workload.scale},
          {"global_batch", workload.global_batch},
          {"data", planned.run.data.file},
          {"case", planned.config.name()},
          {"machine", planned.machine.name},
          {"machine_source", planned.machine.source},
          {"machine_measured", planned.machine.measured},
          {"ranks_per_node", planned.per_node(ranks)}};
}

/// A line for each rank that needs more memory than it has, where anybody knows.
std::vector<std::string> memory_problems_of(const PlanSubject& planned, const placement::PlanFacts& facts,
                                            const placement::Plan& plan) {
  const double available = planned.memory ? static_cast<double>(*planned.memory) : planned.machine.memory_per_rank;
  if (available <= 0.0) return {};
  return placement::memory_problems(plan, planned.workload().tables, facts.step.memory, available);
}

/// The first of them.
std::string memory_text(const std::vector<std::string>& problems) {
  if (problems.empty()) return "";
  const std::size_t more = problems.size() - 1;
  return fmt::format("does not fit: {}{}\n", problems.front(),
                     more > 0 ? fmt::format(" (and {} more rank{} of it)", more, more == 1 ? "" : "s") : "");
}

/// How a plan is shown.
struct ShowFormat {
  std::string_view name, description;
  std::string (*text)(const PlanSubject&, const placement::PlanFacts&, const placement::Plan&);
};

constexpr std::array show_formats{
    ShowFormat{"text", "a page to read",
               [](const PlanSubject& planned, const placement::PlanFacts& facts, const placement::Plan& plan) {
                 return heading(planned, plan.ranks) + placement::show(facts, plan, planned.workload().tables) +
                        memory_text(memory_problems_of(planned, facts, plan));
               }},
    ShowFormat{"json", "every rank and table, for programs",
               [](const PlanSubject& planned, const placement::PlanFacts& facts, const placement::Plan& plan) {
                 auto json = heading_json(planned, plan.ranks);
                 json.update(placement::to_json(facts, plan, planned.workload().tables));
                 json["memory_problems"] = memory_problems_of(planned, facts, plan);
                 return json.dump(1) + "\n";
               }},
};

void show_plan(const PlanArguments& arguments) {
  const ShowFormat& format = choice_named(show_formats, "format", arguments.format);
  PlanSubject planned(arguments);
  if (arguments.ranks) planned.share_batch(*arguments.ranks);
  const Workload& workload = planned.workload();
  const placement::Plan plan = plan_to_show(arguments, planned);
  planned.share_batch(plan.ranks);
  placement::require_supported(plan, workload.tables, workload.features, planned.config.movement_in_effect());
  fmt::print("{}", format.text(planned, facts_of(planned, plan), plan));
}

/// A subcommand on a workload as `run` has it.
CLI::App& add(CLI::App& app, const char* name, const char* description,
              const std::shared_ptr<PlanArguments>& arguments) {
  CLI::App& command = *app.add_subcommand(name, description);
  add_case(command, arguments->of_case);
  add_machine_options(command, arguments->machine);
  as_bytes(command.add_option(
      "--memory", arguments->memory,
      "bytes a rank has, such as 16GB (10^9) or 16GiB (2^30): planners may keep to it, tables and their "
      "state must (default: no limit)"));
  return command;
}

}  // namespace

void define_plan_create(CLI::App& app) {
  const auto arguments = std::make_shared<PlanArguments>();
  CLI::App& command = add(app, "create", "make a plan with a planner", arguments);
  command
      .add_option("--plan", arguments->plan,
                  "planner (shardmark list planners), with settings as NAME:SETTING=VALUE:...")
      ->required();
  command.add_option("--ranks", arguments->ranks, "ranks to plan for")
      ->required()
      ->check(CLI::Range(1, placement::largest_job));
  add_plan_output(command, arguments->output);
  command.callback([arguments] { create(*arguments); });
}

void define_plan_show(CLI::App& app) {
  const auto arguments = std::make_shared<PlanArguments>();
  arguments->format = show_formats.front().name;
  CLI::App& command =
      add(app, "show", "print what each rank holds, gets and computes, and where each table lives", arguments);
  command.add_option("PLAN", arguments->plan, "plan file, or a planner (then --ranks too)")->required();
  command.add_option("--ranks", arguments->ranks, "ranks to plan for; for a file, the ranks it must be for")
      ->check(CLI::Range(1, placement::largest_job));
  command.add_option("--format", arguments->format, described("format", show_formats))->capture_default_str();
  command.callback([arguments] { show_plan(*arguments); });
}

}  // namespace shardmark::workloads
