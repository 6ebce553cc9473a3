// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "comm/agree.hpp"
#include "comm/exchange/exchange_calibration.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/placement/named_plan.hpp"
#include "comm/placement/support.hpp"
#include "comm/session.hpp"
#include "results/verdict.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/command/case_arguments.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/context.hpp"
#include "workloads/command/results_file.hpp"
#include "workloads/measure/export.hpp"
#include "workloads/measure/measure.hpp"
#include "workloads/measure/memory.hpp"
#include "workloads/step/watchdog.hpp"
#include "workloads/sweep/step_traffic.hpp"

namespace shardmark {
namespace {

using Json = nlohmann::ordered_json;

/// Whether some table has shards that differ in their rows: only there do transfers differ.
bool splits_rows(const Plan& plan) {
  return std::ranges::any_of(plan.tables, [](const TablePlacement& placement) {
    const auto kind = kind_of(placement);
    return kind == "row_wise" || kind == "grid";
  });
}

/// Everything that is known before the measurement starts.
struct Setup {
  RunOptions options;
  std::vector<Plan> plans;
  std::vector<PlannedCase> cases;

  std::vector<Case> cases_of(std::size_t plan) const {
    std::vector<Case> of_plan;
    for (const PlannedCase& each : cases)
      if (each.plan == plan) of_plan.push_back(each.how);
    return of_plan;
  }
};

/// The workload as it is asked for, and the ways in which its data move.
std::pair<RunOptions, std::vector<Case>> cases_of(const CaseArguments& arguments,
                                                  const std::vector<GivenOption>& given) {
  std::pair<RunOptions, std::vector<Case>> result{{}, {Case{}}};
  result.first.workload = load_workload(arguments.workload);
  set_options(result.first, result.second, given);
  return result;
}

/// What was given, exchanges being those that these ranks can use. Collective.
std::vector<GivenOption> usable_options(const Communicator& world, const CaseArguments& arguments) {
  auto given = agree(world, [&] { return arguments.given(); });
  for (GivenOption& each : given) {
    if (each.option->name != "exchange") continue;
    const auto usable = agree(world, [&] { return usable_exchanges(world, each.values); });
    each.values.clear();
    for (const NamedExchange& exchange : usable) each.values.push_back(exchange.name());
  }
  return given;
}

Setup set_up(const CaseArguments& arguments, const std::vector<GivenOption>& given, int ranks) {
  auto [options, cases] = cases_of(arguments, given);
  Setup setup{.options = std::move(options), .plans = {}, .cases = {}};
  const Workload& workload = setup.options.workload;
  const auto& plans = arguments.plans.empty() ? workload.plans : arguments.plans;
  if (plans.empty()) throw InputError(workload.name + ": the spec names no plans; use --plan");
  for (const std::string& plan : plans)
    setup.plans.push_back(named_plan(plan, workload.tables, workload.features,
                                     {.ranks = ranks, .replicate_rows = workload.replicate_rows}));
  for (std::size_t plan = 0; plan < setup.plans.size(); ++plan) {
    const bool transfers_differ = splits_rows(setup.plans[plan]);
    for (const Case& how : cases) {
      if (!transfers_differ && how.movement.transfer != cases.front().movement.transfer) continue;
      require_supported(setup.plans[plan], workload.tables, workload.features, how.movement);
      group_of_tables(how.groups, setup.plans[plan], workload.tables, workload.features);
      setup.cases.push_back({plan, how});
    }
  }
  return setup;
}

int run_on(const Communicator& world, const CaseArguments& arguments) {
  const Affinity affinity = agree(world, observed_affinity);
  const Kokkos::ScopeGuard kokkos(kokkos_settings(world, affinity, arguments.threads));
  const Watchdog watchdog(world, arguments.watchdog);
  const Status status = status_line(world);

  const auto given = usable_options(world, arguments);
  if (!arguments.calibration.empty())
    agree(world, [&] { set_calibration(world, read_calibration(arguments.calibration)); });
  const Setup setup = agree(world, [&] { return set_up(arguments, given, world.size()); });
  const RunOptions& options = setup.options;
  const auto batches = agree(world, [&] {
    return make_batch_source(options, [&](const std::string& text) {
      if (world.rank() == 0) fmt::print(stderr, "shardmark: {}\n", text);
    });
  });
  for (std::size_t p = 0; p < setup.plans.size(); ++p)
    require_memory(world, setup.plans[p], options, setup.cases_of(p));
  if (!arguments.export_file.empty())
    export_step(world, options, setup.plans.front(), setup.cases.front().how, *batches, arguments.export_file);
  if (!arguments.traffic_file.empty())
    write_step_traffic(world, options, setup.plans.front(), setup.cases.front().how, *batches, arguments.traffic_file);
  Json environment = environment_record(run_context(world, affinity, options.seed));
  if (options.workload.published) environment["published"] = to_json(*options.workload.published);
  ResultsFile file(world, arguments.out, options.workload.name, std::move(environment));
  const Measured measured = measure({world, options, setup.plans, setup.cases}, *batches, status,
                                    [&](const Measured& so_far) { file.keep(so_far); });
  const bool written = file.finish(measured);
  if (world.rank() == 0) {
    status("");
    const Report report{file.environment(), measured.records};
    print_results({&report, 1}, arguments.printing, stdout_is_terminal(true));
    std::fflush(stdout);
  }
  const Verdict verdict = verdict_of(measured.records, file.environment());
  if (!written) return exit_bad_input;
  if (measured.signal != 0 && (verdict.valid || measured.records.empty())) return 128 + measured.signal;
  return verdict.valid ? 0 : 1;
}

}  // namespace

void run_cases(const CaseArguments& arguments) {
  if (arguments.dry_run) {
    fmt::print("{}\n", to_json(cases_of(arguments, arguments.given()).first.workload).dump(2));
    return;
  }
  const int code = with_mpi([&](const Communicator& world) { return run_on(world, arguments); });
  if (code != 0) throw Failure{code};
}

}  // namespace shardmark
