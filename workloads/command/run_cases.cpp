// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>

#include "comm/agree.hpp"
#include "comm/exchange/exchange_calibration.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/placement/named_plan.hpp"
#include "comm/session.hpp"
#include "results/json_lines.hpp"
#include "results/table.hpp"
#include "results/verdict.hpp"
#include "workloads/cases/support.hpp"
#include "workloads/command/case_options.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/context.hpp"
#include "workloads/command/status_line.hpp"
#include "workloads/measure/export.hpp"
#include "workloads/measure/measure.hpp"
#include "workloads/measure/memory.hpp"
#include "workloads/step/watchdog.hpp"
#include "workloads/sweep/step_traffic.hpp"

namespace shardmark {
namespace {

using Json = nlohmann::ordered_json;

/// The given names, or all of the table for "all"; unknown ones are refused.
template <class Choices>
std::vector<std::string> names_of(const Choices& choices, std::string_view what,
                                  const std::vector<std::string>& given) {
  std::vector<std::string> names;
  for (const std::string& name : given) {
    if (name != "all") {
      names.emplace_back(choice_named(choices, what, name).name);
      continue;
    }
    for (const auto& choice : choices) names.emplace_back(choice.name);
  }
  return names;
}

/// Each of the movements with each of the values in `field`.
template <class Value>
std::vector<Movement> each_with(const std::vector<Movement>& movements, Value Movement::*field,
                                const std::vector<Value>& values) {
  std::vector<Movement> all;
  for (Movement movement : movements)
    for (const Value& value : values) {
      movement.*field = value;
      all.push_back(movement);
    }
  return all;
}

std::vector<WireTypes> wires_of(const CaseArguments& arguments) {
  const auto types_of = [](const std::vector<std::string>& names) {
    std::vector<ValueType> types;
    for (const std::string& name : names_of(value_types, "wire type", names)) types.push_back(named<ValueType>(name));
    return types;
  };
  std::vector<WireTypes> wires;
  for (const ValueType type : types_of(arguments.wires)) wires.push_back({type, type});
  if (!wires.empty()) return wires;
  for (const ValueType forward : types_of(arguments.wires_forward))
    for (const ValueType backward : types_of(arguments.wires_backward)) wires.push_back({forward, backward});
  return wires;
}

std::vector<TableGroups> groups_of(const CaseArguments& arguments) {
  std::vector<TableGroups> all;
  for (const std::string& text : arguments.groups)
    for (const std::string& balance : names_of(group_balances, "group balance", arguments.group_balances))
      all.push_back({.groups = text == "table" ? TableGroups::table : count("--groups", text, 1),
                     .balance = named<GroupBalance>(balance)});
  return all;
}

std::vector<Movement> movements_of(const CaseArguments& arguments, const std::vector<std::string>& exchanges) {
  std::vector<Movement> all(1);
  all = each_with(all, &Movement::transfer, names_of(transfers, "transfer", arguments.transfers));
  all = each_with(all, &Movement::exchange, exchanges);
  all = each_with(all, &Movement::wire, wires_of(arguments));
  std::vector<WireIds> ids;
  for (const std::string& name : names_of(wire_ids, "type of ids", arguments.wire_ids))
    ids.push_back(named<WireIds>(name));
  all = each_with(all, &Movement::wire_ids, ids);
  std::vector<Dedup> dedup;
  for (const std::string& name : names_of(dedups, "dedup", arguments.dedups)) dedup.push_back(named<Dedup>(name));
  all = each_with(all, &Movement::dedup, dedup);
  all = each_with(all, &Movement::groups, groups_of(arguments));
  std::vector<ReplicatedGradients> replicated;
  for (const std::string& name :
       names_of(replicated_gradients, "way of replicated gradients", arguments.replicated_gradients))
    replicated.push_back(named<ReplicatedGradients>(name));
  all = each_with(all, &Movement::replicated_gradients, replicated);
  return all;
}

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
  std::vector<Case> cases;

  std::vector<Movement> movements_of(std::size_t plan) const {
    std::vector<Movement> movements;
    for (const Case& each : cases)
      if (each.plan == plan) movements.push_back(each.movement);
    return movements;
  }
};

Setup set_up(const CaseArguments& arguments, const std::vector<std::string>& exchanges, int ranks) {
  Setup setup{.options = options_of(arguments), .plans = {}, .cases = {}};
  const Workload& workload = setup.options.workload;
  const auto& plans = arguments.plans.empty() ? workload.plans : arguments.plans;
  if (plans.empty()) throw InputError(workload.name + ": the spec names no plans; use --plan");
  for (const std::string& plan : plans)
    setup.plans.push_back(named_plan(plan, workload.tables, workload.features,
                                     {.ranks = ranks, .replicate_rows = workload.replicate_rows}));
  for (std::size_t plan = 0; plan < setup.plans.size(); ++plan) {
    const auto movements = movements_of(arguments, exchanges);
    const bool transfers_differ = splits_rows(setup.plans[plan]);
    for (const Movement& movement : movements) {
      if (!transfers_differ && movement.transfer != movements.front().transfer) continue;
      require_supported(setup.plans[plan], workload.tables, workload.features, movement);
      group_of_tables(movement.groups, setup.plans[plan], workload.tables, workload.features);
      setup.cases.push_back({plan, movement});
    }
  }
  return setup;
}

/// The name that all of them share, or "mixed".
template <class Range, class NameOf>
std::string common_name(const Range& all, NameOf name_of) {
  const auto first = name_of(all.front());
  return std::string(std::ranges::all_of(all, [&](const auto& each) { return name_of(each) == first; }) ? first
                                                                                                        : "mixed");
}

Json details_of(const RunOptions& options, const BatchSource& batches) {
  return {{"seed", options.seed},
          {"exact", options.exact},
          {"pooling", common_name(options.workload.features, [](const Feature& f) { return name_of(f.pooling); })},
          {"value_type", common_name(options.workload.tables, [](const Table& t) { return name_of(t.value_type); })},
          {"batches", options.batches},
          {options.data.file.empty() ? "ids" : "data", batches.description()}};
}

int run_on(const Communicator& world, const CaseArguments& arguments) {
  const Affinity affinity = agree(world, observed_affinity);
  const Kokkos::ScopeGuard kokkos(kokkos_settings(world, affinity, arguments.threads));
  const Watchdog watchdog(world, arguments.watchdog);
  const Status status = status_line(world);

  std::vector<std::string> exchanges;
  agree(world, [&] {
    for (const auto& exchange : usable_exchanges(world, arguments.exchanges)) exchanges.push_back(exchange.name());
  });
  if (!arguments.calibration.empty())
    agree(world, [&] { set_calibration(world, read_calibration(arguments.calibration)); });
  const Setup setup = agree(world, [&] { return set_up(arguments, exchanges, world.size()); });
  const RunOptions& options = setup.options;
  const auto batches = agree(world, [&] {
    return make_batch_source(options, [&](const std::string& text) {
      if (world.rank() == 0) fmt::print(stderr, "shardmark: {}\n", text);
    });
  });
  for (std::size_t p = 0; p < setup.plans.size(); ++p)
    require_memory(world, setup.plans[p], options, setup.movements_of(p));
  if (!arguments.export_file.empty())
    export_step(world, options, setup.plans.front(), setup.cases.front().movement, *batches, arguments.export_file);
  if (!arguments.traffic_file.empty())
    write_step_traffic(world, options, setup.plans.front(), setup.cases.front().movement, *batches,
                       arguments.traffic_file);
  Json environment = environment_record(run_context(world, affinity, options.seed));
  if (options.workload.published) environment["published"] = to_json(*options.workload.published);
  std::optional<JsonLinesWriter> writer;
  agree(world, [&] {
    if (world.rank() != 0) return;
    const auto file = arguments.out.empty()
                          ? default_results_file(options.workload.name, environment.at("time").get<std::string>())
                          : std::filesystem::path(arguments.out);
    writer.emplace(file, environment);
  });

  auto records = measure(world, options, setup.plans, setup.cases, *batches, status);
  agree(world, [&] {
    if (!writer) return;
    for (CaseRecord& record : records) {
      if (record.details.contains("picked"))
        fmt::print(stderr, "shardmark: {} on {} picked {}\n", record.exchange, record.plan,
                   record.details.at("picked").get<std::string>());
      if (record.details.contains("dedup_picked"))
        fmt::print(stderr, "shardmark: dedup auto on {} picked {}\n", record.plan,
                   record.details.at("dedup_picked").get<std::string>());
      Json details = details_of(options, *batches);
      details.update(record.details);
      record.details = std::move(details);
      writer->append(record);
    }
    writer->close();
  });
  if (writer) {
    status("");
    fmt::print("{}", results_table(environment, records));
    std::fflush(stdout);
  }
  return verdict_of(records).valid ? 0 : 1;
}

}  // namespace

void run_cases(const CaseArguments& arguments) {
  if (arguments.dry_run) {
    fmt::print("{}\n", to_json(options_of(arguments).workload).dump(2));
    return;
  }
  const int code = with_mpi([&](const Communicator& world) { return run_on(world, arguments); });
  if (code != 0) throw Failure{code};
}

}  // namespace shardmark
