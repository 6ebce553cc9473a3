// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/case_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/placement/formats/plan_json.hpp"
#include "comm/placement/named_plan.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/support.hpp"
#include "reference/storage.hpp"
#include "workloads/cases/async.hpp"
#include "workloads/cases/placement_inputs.hpp"
#include "workloads/measure/memory.hpp"

namespace shardmark::workloads {
namespace {

/// Whether some table has shards that differ in their rows: only there do transfers differ.
bool splits_rows(const placement::Plan& plan) {
  return std::ranges::any_of(plan.tables, [](const placement::TablePlacement& placement) {
    const auto kind = placement::kind_of(placement);
    return kind.ends_with("row_wise") || kind.ends_with("grid");
  });
}

bool says_storage(const placement::Plan& plan) {
  return std::ranges::any_of(plan.tables,
                             [](const placement::TablePlacement& placement) { return placement.storage.has_value(); });
}

/// The storages that the cases say, in their order; "as the workload says" is one of them.
std::vector<std::optional<Storage>> storages_of(const std::vector<Case>& cases) {
  std::vector<std::optional<Storage>> storages;
  for (const Case& config : cases)
    if (std::ranges::find(storages, config.storage) == storages.end()) storages.push_back(config.storage);
  return storages;
}

placement::PlanRequest plan_request(const RunOptions& options, const Ranks& ranks,
                                    const placement::Movement& movement) {
  placement::PlanRequest request = plan_request_of(options.workload, ranks.count, movement);
  request.seed = options.seed;
  request.ranks_per_node = ranks.per_node;
  request.machine = ranks.machine;
  request.ids = ranks.ids;
  return request;
}

/// Of several movements with this storage, plans are made for the first.
const Case& first_with(std::optional<Storage> storage, const std::vector<Case>& cases) {
  return *std::ranges::find(cases, storage, &Case::storage);
}

/// Plans the tables with one of the storages, where the plan does not say their own, and adds those of the cases that
/// have it. Throws InputError where such tables cannot be placed or their cases be run so.
void add_plan(const std::string& name, std::optional<Storage> storage, const std::vector<Case>& cases,
              const Ranks& ranks, SharedPlans& plans, Setup& setup) {
  PlannedTables planned{{}, with_storage(setup.options, storage)};
  const Workload& workload = planned.options.workload;
  planned.plan = plans.named(name, workload, plan_request(planned.options, ranks, first_with(storage, cases).movement));
  planned.options.workload.tables = placement::stored(workload.tables, planned.plan);
  const auto same = [&](const PlannedTables& other) {
    return other.plan == planned.plan &&
           std::ranges::equal(other.options.workload.tables, workload.tables, {}, &Table::storage, &Table::storage);
  };
  if (says_storage(planned.plan) && std::ranges::any_of(setup.plans, same)) return;  // another storage was asked for
  const bool transfers_differ = splits_rows(planned.plan);
  std::vector<PlannedCase> added;
  for (const Case& config : cases) {
    if (config.storage != storage) continue;
    if (!transfers_differ && config.movement.transfer != cases.front().movement.transfer) continue;
    placement::require_supported(planned.plan, workload.tables, workload.features, config.movement_in_effect());
    require_async(planned.plan, workload.tables, workload.features, config);
    placement::group_of_tables(config.groups, planned.plan, workload.tables, workload.features);
    added.push_back({setup.plans.size(), config});
    if (says_storage(planned.plan)) added.back().config.storage.reset();  // records then tell that of the tables
  }
  setup.plans.push_back(std::move(planned));
  std::ranges::copy(added, std::back_inserter(setup.cases));
}

/// Adds a plan with every storage that it can be done with. Throws InputError where there is none.
void add_plans(const std::string& name, const std::vector<Case>& cases, const Ranks& ranks, SharedPlans& plans,
               Setup& setup) {
  const std::size_t before = setup.plans.size();
  std::vector<std::pair<std::optional<Storage>, std::string>> refused;
  for (const auto storage : storages_of(cases)) {
    try {
      add_plan(name, storage, cases, ranks, plans, setup);
    } catch (const InputError& error) {
      refused.emplace_back(storage, error.what());
    }
  }
  if (setup.plans.size() == before) throw InputError(refused.front().second);
  for (const auto& [storage, why] : refused)
    setup.left_out.push_back(fmt::format("{} is not measured with --storage {}: {}", name, name_of(*storage), why));
}

/// Drops the plans that `is_left_out` says, by number, and their cases.
void leave_out(Setup& setup, const std::vector<bool>& is_left_out) {
  std::vector<std::size_t> number_of;  // of each plan among those that stay
  std::vector<PlannedTables> plans;
  for (std::size_t p = 0; p < setup.plans.size(); ++p) {
    number_of.push_back(plans.size());
    if (!is_left_out[p]) plans.push_back(std::move(setup.plans[p]));
  }
  setup.plans = std::move(plans);
  std::erase_if(setup.cases, [&](const PlannedCase& each) { return is_left_out[each.plan]; });
  for (PlannedCase& each : setup.cases) each.plan = number_of[each.plan];
}

/// Adds the plans of all planners that can place the tables, those that place them alike once.
void add_all_plans(const std::vector<Case>& cases, const Ranks& ranks, SharedPlans& plans, Setup& setup) {
  for (const auto& planner : placement::planners) try {
      add_plans(std::string(planner.name), cases, ranks, plans, setup);
    } catch (const InputError& error) {
      setup.left_out.push_back(fmt::format("{} is not measured: {}", planner.name, error.what()));
    }
  std::vector<bool> is_another(setup.plans.size());
  for (std::size_t p = 0; p < setup.plans.size(); ++p)
    for (std::size_t other = 0; other < p && !is_another[p]; ++other) {
      const PlannedTables &a = setup.plans[p], &b = setup.plans[other];
      is_another[p] = !is_another[other] && a.plan.tables == b.plan.tables &&
                      std::ranges::equal(a.options.workload.tables, b.options.workload.tables, {}, &Table::storage,
                                         &Table::storage);
      if (is_another[p]) setup.left_out.push_back(fmt::format("{} is the plan {}", a.plan.name, b.plan.name));
    }
  leave_out(setup, is_another);
}

/// Plans that were named apart on the command line, but share the name that they give themselves, get names of their
/// own: "search#1f0c4a7e" by their digest, or "search#2" where they are the same. first_of: of each given name its
/// first plan, and behind them their number.
void tell_apart(const std::vector<std::size_t>& first_of, std::vector<PlannedTables>& plans) {
  std::vector<std::string> names, digests;
  for (const PlannedTables& planned : plans) {
    names.push_back(planned.plan.name);
    digests.push_back(placement::plan_digest(planned.plan, planned.options.workload.tables).substr(0, 8));
  }
  std::map<std::pair<std::string, std::string>, int> copies;
  for (std::size_t given = 0; given + 1 < first_of.size(); ++given) {
    const std::size_t first = first_of[given];
    if (first == first_of[given + 1]) continue;
    const auto shares = [&](std::size_t other) { return other < plans.size() && names[other] == names[first]; };
    bool differ = false;
    for (std::size_t other = 0; other + 1 < first_of.size(); ++other)
      differ = differ || (first_of[other] < first_of[other + 1] && shares(first_of[other]) &&
                          digests[first_of[other]] != digests[first]);
    std::string name = names[first] + (differ ? "#" + digests[first] : "");
    if (const int copy = ++copies[{names[first], digests[first]}]; copy > 1) name += fmt::format("#{}", copy);
    for (std::size_t p = first; p < first_of[given + 1]; ++p) plans[p].plan.name = name;
  }
}

Setup set_up(const CaseArguments& arguments, RunOptions options, const std::vector<Case>& cases, const Ranks& ranks,
             SharedPlans& plans) {
  Setup setup{.options = std::move(options), .plans = {}, .cases = {}, .left_out = {}};
  const Workload& workload = setup.options.workload;
  const auto& names = arguments.plans.empty() ? workload.plans : arguments.plans;
  if (names.empty()) throw InputError(workload.name + ": the spec names no plans; use --plan");
  if (std::ranges::find(names, "all") != names.end()) {
    add_all_plans(cases, ranks, plans, setup);
    return setup;
  }
  std::vector<std::size_t> first_of{0};
  for (const std::string& name : names) {
    add_plans(name, cases, ranks, plans, setup);
    first_of.push_back(setup.plans.size());
  }
  tell_apart(first_of, setup.plans);
  return setup;
}

/// Leaves out the plans for which memory does not suffice. Throws InputError where it suffices for none. Collective.
void leave_out_what_does_not_fit(const comm::Communicator& world, Setup& setup) {
  std::vector<bool> too_large(setup.plans.size());
  for (std::size_t p = 0; p < setup.plans.size(); ++p) try {
      require_memory(world, setup.plans[p].plan, setup.plans[p].options, setup.cases_of(p));
    } catch (const InputError& error) {
      if (std::ranges::count(too_large, true) + 1 == std::ssize(too_large)) throw;
      too_large[p] = true;
      setup.left_out.push_back(fmt::format("{} is not measured: {}", setup.plans[p].plan.name, error.what()));
    }
  leave_out(setup, too_large);
}

}  // namespace

Setup planned(const comm::Communicator& world, const CaseArguments& arguments, const RunOptions& requested,
              const std::vector<Case>& cases, const Ranks& ranks) {
  SharedPlans plans(world);
  Setup setup = comm::agree(
      world, [&] { return world.rank() == 0 ? set_up(arguments, requested, cases, ranks, plans) : Setup{}; });
  plans.share(world);
  if (world.rank() != 0) setup = set_up(arguments, requested, cases, ranks, plans);
  leave_out_what_does_not_fit(world, setup);
  return setup;
}

SharedPlans::Outcome SharedPlans::make(const std::string& name_or_file, const Workload& workload,
                                       const placement::PlanRequest& request) const {
  try {
    return {true,
            placement::plan_to_json(placement::named_plan(name_or_file, workload.tables, workload.features, request),
                                    workload.tables)};
  } catch (const InputError& error) {
    return {false, error.what()};
  }
}

placement::Plan SharedPlans::named(const std::string& name_or_file, const Workload& workload,
                                   const placement::PlanRequest& request) {
  if (is_first_) outcomes_.push_back(make(name_or_file, workload, request));
  const Outcome& outcome = outcomes_.at(next_++);
  if (!outcome.planned) throw InputError(outcome.text);
  return placement::plan_from_json(outcome.text, name_or_file, workload.tables);
}

void SharedPlans::share(const comm::Communicator& world) {
  nlohmann::json all = nlohmann::json::array();
  for (const Outcome& outcome : outcomes_) all.push_back({{"planned", outcome.planned}, {"text", outcome.text}});
  std::string text = all.dump();
  comm::broadcast(world, text, 0);
  outcomes_.clear();
  for (const auto& outcome : nlohmann::json::parse(text))
    outcomes_.push_back({outcome.at("planned").get<bool>(), outcome.at("text").get<std::string>()});
}

}  // namespace shardmark::workloads
