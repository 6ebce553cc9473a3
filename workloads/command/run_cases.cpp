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

/// Each of the cases with each of the values where `field` of it says.
template <class Value, class Field>
std::vector<Case> each_with(const std::vector<Case>& cases, const std::vector<Value>& values, const Field& field) {
  std::vector<Case> all;
  for (Case each : cases)
    for (const Value& value : values) {
      field(each) = value;
      all.push_back(each);
    }
  return all;
}

/// The values of an enum that names say, "all" standing for each.
template <class Enum>
std::vector<Enum> values_of(const std::vector<std::string>& names) {
  const auto choices = choices_of(Enum{});
  std::vector<Enum> values;
  for (const std::string& name : names_of(choices.table, choices.what, names)) values.push_back(named<Enum>(name));
  return values;
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

std::vector<Case> cases_of(const CaseArguments& arguments, const std::vector<NamedExchange>& exchanges) {
  std::vector<Case> all(1);
  const auto each = [&](const auto& values, const auto& field) { all = each_with(all, values, field); };
  each(
      values_of<RowTransfer>(arguments.transfers), [](Case & c) -> auto& { return c.movement.transfer; });
  each(
      exchanges, [](Case & c) -> auto& { return c.exchange; });
  each(
      wires_of(arguments), [](Case & c) -> auto& { return c.movement.wire; });
  each(
      values_of<WireIds>(arguments.wire_ids), [](Case & c) -> auto& { return c.movement.wire_ids; });
  each(
      values_of<Dedup>(arguments.dedups), [](Case & c) -> auto& { return c.movement.dedup; });
  each(
      groups_of(arguments), [](Case & c) -> auto& { return c.groups; });
  each(
      values_of<ReplicatedGradients>(arguments.replicated_gradients),
      [](Case & c) -> auto& { return c.movement.replicated_gradients; });
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
  std::vector<PlannedCase> cases;

  std::vector<Movement> movements_of(std::size_t plan) const {
    std::vector<Movement> movements;
    for (const PlannedCase& each : cases)
      if (each.plan == plan) movements.push_back(each.how.movement);
    return movements;
  }
};

Setup set_up(const CaseArguments& arguments, const std::vector<NamedExchange>& exchanges, int ranks) {
  Setup setup{.options = options_of(arguments), .plans = {}, .cases = {}};
  const Workload& workload = setup.options.workload;
  const auto& plans = arguments.plans.empty() ? workload.plans : arguments.plans;
  if (plans.empty()) throw InputError(workload.name + ": the spec names no plans; use --plan");
  for (const std::string& plan : plans)
    setup.plans.push_back(named_plan(plan, workload.tables, workload.features,
                                     {.ranks = ranks, .replicate_rows = workload.replicate_rows}));
  for (std::size_t plan = 0; plan < setup.plans.size(); ++plan) {
    const auto cases = cases_of(arguments, exchanges);
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

  const auto exchanges = agree(world, [&] { return usable_exchanges(world, arguments.exchanges); });
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
    export_step(world, options, setup.plans.front(), setup.cases.front().how, *batches, arguments.export_file);
  if (!arguments.traffic_file.empty())
    write_step_traffic(world, options, setup.plans.front(), setup.cases.front().how, *batches, arguments.traffic_file);
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

  auto records = measure({world, options, setup.plans, setup.cases}, *batches, status);
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
