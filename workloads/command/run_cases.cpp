// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "comm/agree.hpp"
#include "comm/exchange/exchange_calibration.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/placement/idle_ranks.hpp"
#include "comm/session.hpp"
#include "reference/output_file.hpp"
#include "results/verdict.hpp"
#include "workloads/batches/compute_threads.hpp"
#include "workloads/batches/workload_statistics.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/cases/workload_summary.hpp"
#include "workloads/checkpoint/run_facts.hpp"
#include "workloads/command/async_pools.hpp"
#include "workloads/command/case_arguments.hpp"
#include "workloads/command/case_setup.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/context.hpp"
#include "workloads/command/launcher.hpp"
#include "workloads/command/machine_choice.hpp"
#include "workloads/command/results_file.hpp"
#include "workloads/command/shared_processors.hpp"
#include "workloads/measure/case_predictions.hpp"
#include "workloads/measure/export.hpp"
#include "workloads/measure/measure.hpp"
#include "workloads/step/watchdog.hpp"
#include "workloads/sweep/exchange_sweep.hpp"
#include "workloads/transfer/unique_rows/node_dedup.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

/// The workload as it is asked for on so many ranks, and the ways in which its data move.
std::pair<RunOptions, std::vector<Case>> cases_of(const CaseArguments& arguments, const std::vector<GivenOption>& given,
                                                  int ranks) {
  std::pair<RunOptions, std::vector<Case>> result{{}, {Case{}}};
  result.first.workload = load_workload(arguments.workload);
  set_options(result.first, result.second, given);
  share_batch(result.first.workload, ranks);
  expect_keys(result.first);
  return result;
}

/// What was given, exchanges being those that these ranks can use. Collective.
std::vector<GivenOption> usable_options(const comm::Communicator& world, const CaseArguments& arguments) {
  auto given = comm::agree(world, [&] { return arguments.given(); });
  for (GivenOption& each : given) {
    if (each.option->name != "exchange") continue;
    const auto usable = comm::agree(world, [&] { return comm::usable_exchanges(world, each.values); });
    each.values.clear();
    for (const comm::NamedExchange& exchange : usable) each.values.push_back(exchange.name());
  }
  return given;
}

/// What predictions rest on, for the header of the results.
Json to_json(const ChosenMachine& machine) {
  Json json{{"name", machine.model->name}, {"source", machine.model->source}, {"measured", machine.model->measured}};
  if (!machine.warning.empty()) json["warning"] = machine.warning;
  return json;
}

/// Exchange auto picks by the ratios of these ranks, where their calibration is known; else it measures some in the
/// job.
void use_ratios(const comm::Communicator& world, const ChosenMachine& machine) {
  if (machine.model && machine.warning.empty() && machine.model->ratios.ranks == world.size() &&
      machine.model->ratios.nodes == world.nodes() && !machine.model->ratios.cells.empty())
    comm::agree(world, [&] { comm::set_calibration(world, machine.model->ratios); });
}

/// A resumed job may replace the FILE.partial of the one before.
results::Replace replaces(const std::string& file, const CaseArguments& arguments) {
  return {arguments.force, arguments.force || file == file_of_partial(arguments.resume)};
}

int run_on(const comm::Communicator& world, const CaseArguments& arguments) {
  const comm::Affinity affinity = comm::agree(world, comm::observed_affinity);
  const CoreShares cores = core_shares(world, affinity, arguments);
  const ComputeThreads threads(world, affinity, cores.threads_to_compute(arguments.threads));
  sleep_where_processors_are_shared(world);
  const Watchdog watchdog(world, arguments.watchdog);
  const Status status = status_line(world);

  const auto given = usable_options(world, arguments);
  std::set<std::string> printed;
  const auto say = [&](const std::string& text) {
    if (world.rank() == 0 && printed.insert(text).second) fmt::print(stderr, "shardmark: {}\n", text);
  };
  if (const std::string why = why_alone(world.size()); !why.empty() && speaks()) say(why);
  const PoolFacts facts = pool_facts(world, affinity);
  const auto [requested, asked_cases] = comm::agree(world, [&] {
    auto result = cases_of(arguments, given, world.size());
    result.second = with_pools_in_effect(std::move(result.second), facts);
    for (const Case& config : result.second)
      if (config.movement.dedup == placement::Dedup::node) require_node_dedup(world);
    return result;
  });
  comm::agree(world, [&] {
    if (world.rank() != 0) return;
    if (!arguments.out.empty())
      results::JsonLinesWriter::require_writable(arguments.out, replaces(arguments.out, arguments));
    if (!arguments.export_file.empty()) require_new(arguments.export_file, arguments.force);
    if (!arguments.traffic_file.empty())
      for (const std::string& file : traffic_files(arguments.traffic_file)) require_new(file, arguments.force);
  });
  std::optional<Earlier> earlier;
  if (!arguments.resume.empty())
    earlier = read_earlier(world, arguments.resume,
                           results::environment_record(run_context(world, affinity, requested.seed)));
  const placement::IdStatistics ids = id_statistics_of(world, requested.workload, requested.data, say);
  const auto planned_for = [&](const placement::MachineModel* machine) {
    return planned(world, arguments, requested, asked_cases, {world.size(), ranks_per_node(world), machine, ids});
  };
  if (calibrates(world, arguments.machine)) {  // what can be refused is refused before
    const Setup likely = planned_for(nullptr);
    comm::agree(world, [&] { return make_batch_source(likely.options, [](const std::string&) {}); });
  }
  const ChosenMachine machine = choose_machine(world, affinity, arguments.machine, status);
  use_ratios(world, machine);
  Setup setup = planned_for(machine.get());
  const RunOptions& options = setup.options;
  std::ranges::for_each(setup.left_out, say);
  if (const std::string why = why_inline(given, asked_cases, facts); !why.empty()) say(why);
  for (const PlannedTables& planned : setup.plans)
    if (const std::string idle = idle_ranks_text(planned.plan); !idle.empty())
      say(fmt::format("plan {}: {}", planned.plan.name, idle));
  comm::agree(world, [&] {
    if (!options.save.empty() && setup.cases.size() > 1)
      throw InputError(fmt::format("--save {}: has room for one case, and there are {}; use shardmark run",
                                   options.save, setup.cases.size()));
    if (world.rank() == 0)
      for (const PlannedTables& planned : setup.plans) require_checkpoints(planned.options, planned.plan);
  });
  const auto batches = comm::agree(world, [&] { return make_batch_source(options, say); });
  const PlannedTables& first = setup.plans.front();
  const Case& config = setup.cases.front().config;
  if (!arguments.export_file.empty())
    export_step(world, first.options, first.plan, config, *batches, arguments.export_file);
  if (!arguments.traffic_file.empty())
    write_step_traffic(world, first.options, first.plan, config, *batches, arguments.traffic_file);
  Json environment = results::environment_record(run_context(world, affinity, options.seed));
  if (const auto published = published_ratio(options.workload.published_steps))
    environment["published"] = {{"fast", published->fast},
                                {"slow", published->slow},
                                {"ratio", published->ratio},
                                {"source", published->source}};
  if (machine.model) environment["predicted_by"] = to_json(machine);
  const Earlier* const resumed = earlier ? &*earlier : nullptr;
  ResultsFile file(world, arguments.out, arguments.force, options.workload.name, std::move(environment), resumed);
  const Measured measured =
      measure({world, options, setup.plans, setup.cases, machine.get(), resumed, comm::CoreSet(affinity, cores.stages)},
              *batches, status, [&](const Measured& so_far) { file.keep(so_far); });
  const bool written = file.finish(measured);
  if (world.rank() == 0) {
    status("");
    const results::Report report{file.environment(), measured.records};
    print_results({&report, 1}, arguments.printing, stdout_is_terminal(true));
    std::fflush(stdout);
    if (written && std::filesystem::is_regular_file(file.file()))
      fmt::print(stderr, "results: {0} (shardmark results show {0})\n", file.file().string());
  }
  const results::Verdict verdict = results::verdict_of(measured.records, file.environment());
  if (!written) return comm::exit_bad_input;
  if (measured.signal != 0 && (verdict.valid || measured.records.empty())) return 128 + measured.signal;
  return verdict.valid ? 0 : 1;
}

}  // namespace

void run_cases(const CaseArguments& arguments) {
  if (arguments.dry_run) {
    const auto [options, cases] = cases_of(arguments, arguments.given(), launched_ranks());
    Workload workload = with_storage(options, cases.front().storage).workload;
    fmt::print(stderr, "{}: {}\n", workload.name, summary_of(workload));
    fmt::print("{}\n", to_json(std::move(workload)).dump(2));
    return;
  }
  const int code =
      comm::with_mpi([&](const comm::Communicator& world) { return run_on(world, arguments); }, mpi_threads(arguments));
  if (code != 0) throw Failure{code};
}

}  // namespace shardmark::workloads
