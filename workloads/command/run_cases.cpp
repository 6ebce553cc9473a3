// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

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
  std::vector<PlannedTables> plans;
  std::vector<PlannedCase> cases;
  std::vector<std::string> left_out;  ///< "plan with storage S is left out: why"

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

/// The storages that the cases say, in their order; "as the workload says" is one of them.
std::vector<std::optional<Storage>> storages_of(const std::vector<Case>& cases) {
  std::vector<std::optional<Storage>> storages;
  for (const Case& how : cases)
    if (std::ranges::find(storages, how.storage) == storages.end()) storages.push_back(how.storage);
  return storages;
}

/// Plans the tables with one of the storages, and adds those of the cases that have it. Throws InputError where such
/// tables cannot be placed or their cases be run so.
void add_plan(const std::string& name, std::optional<Storage> storage, const std::vector<Case>& cases, int ranks,
              Setup& setup) {
  PlannedTables planned{{}, with_storage(setup.options, storage)};
  const Workload& workload = planned.options.workload;
  planned.plan =
      named_plan(name, workload.tables, workload.features, {.ranks = ranks, .replicate_rows = workload.replicate_rows});
  const bool transfers_differ = splits_rows(planned.plan);
  std::vector<PlannedCase> added;
  for (const Case& how : cases) {
    if (how.storage != storage) continue;
    if (!transfers_differ && how.movement.transfer != cases.front().movement.transfer) continue;
    require_supported(planned.plan, workload.tables, workload.features, how.movement);
    group_of_tables(how.groups, planned.plan, workload.tables, workload.features);
    added.push_back({setup.plans.size(), how});
  }
  setup.plans.push_back(std::move(planned));
  std::ranges::copy(added, std::back_inserter(setup.cases));
}

/// Adds a plan with every storage that it can be done with. Throws InputError where there is none.
void add_plans(const std::string& name, const std::vector<Case>& cases, int ranks, Setup& setup) {
  const std::size_t before = setup.plans.size();
  std::vector<std::pair<std::optional<Storage>, std::string>> refused;
  for (const auto storage : storages_of(cases)) {
    try {
      add_plan(name, storage, cases, ranks, setup);
    } catch (const InputError& error) {
      refused.emplace_back(storage, error.what());
    }
  }
  if (setup.plans.size() == before) throw InputError(refused.front().second);
  for (const auto& [storage, why] : refused)
    setup.left_out.push_back(fmt::format("{} is not measured with --storage {}: {}", name, name_of(*storage), why));
}

Setup set_up(const CaseArguments& arguments, const std::vector<GivenOption>& given, int ranks) {
  auto [options, cases] = cases_of(arguments, given);
  Setup setup{.options = std::move(options), .plans = {}, .cases = {}, .left_out = {}};
  const Workload& workload = setup.options.workload;
  const auto& plans = arguments.plans.empty() ? workload.plans : arguments.plans;
  if (plans.empty()) throw InputError(workload.name + ": the spec names no plans; use --plan");
  for (const std::string& plan : plans) add_plans(plan, cases, ranks, setup);
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
  const auto say = [&](const std::string& text) {
    if (world.rank() == 0) fmt::print(stderr, "shardmark: {}\n", text);
  };
  std::ranges::for_each(setup.left_out, say);
  const auto batches = agree(world, [&] { return make_batch_source(options, say); });
  for (std::size_t p = 0; p < setup.plans.size(); ++p)
    require_memory(world, setup.plans[p].plan, setup.plans[p].options, setup.cases_of(p));
  const PlannedTables& first = setup.plans.front();
  const Case& how = setup.cases.front().how;
  if (!arguments.export_file.empty())
    export_step(world, first.options, first.plan, how, *batches, arguments.export_file);
  if (!arguments.traffic_file.empty())
    write_step_traffic(world, first.options, first.plan, how, *batches, arguments.traffic_file);
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
    const auto [options, cases] = cases_of(arguments, arguments.given());
    fmt::print("{}\n", to_json(with_storage(options, cases.front().storage).workload).dump(2));
    return;
  }
  const int code = with_mpi([&](const Communicator& world) { return run_on(world, arguments); });
  if (code != 0) throw Failure{code};
}

}  // namespace shardmark
