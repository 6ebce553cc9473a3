// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/planners/search_planner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comm/placement/formats/plan_file.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/search/search.hpp"
#include "comm/placement/support.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

bool is_on(const PlanRequest& request, std::string_view setting) {
  constexpr std::array switches{Choice<bool>{"on", "", true}, Choice<bool>{"off", "", false}};
  return choice_named(switches, setting, request.settings.text(setting)).value;
}

std::vector<std::string_view> joined_by_plus(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find('+'), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// Returns the option that a placement is, of those that do not split rows; else nothing.
std::string_view option_of(const TablePlacement& placement, const Table& table) {
  if (placement.data_parallel) return "data_parallel";
  if (placement.hot_rows > 0) return "";
  const bool all_rows =
      std::ranges::all_of(placement.shards, [&](const Shard& shard) { return shard.rows.count() == table.rows; });
  return !all_rows ? "" : placement.shards.size() == 1 ? "table_wise" : "column_wise";
}

/// Returns whether the format can express the plan whatever ranks its shards, of whole columns, are moved to.
bool can_express(const PlanFormat& format, const Plan& plan, std::span<const Table> tables,
                 std::span<const Feature> features) {
  if (format.options_of_search.empty()) return true;
  const auto options = joined_by_plus(format.options_of_search);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const std::string_view option = option_of(plan.tables[t], tables[t]);
    if (option.empty() || std::ranges::none_of(options, [&](std::string_view of) { return of.starts_with(option); }))
      return false;
  }
  try {
    return !format.text(plan, tables, features).empty();
  } catch (const InputError&) {
    return false;
  }
}

/// Returns the plans of the other planners that can place these tables under this request, that a step can do and that
/// the format can express.
std::vector<SearchStart> plans_of_others(std::span<const Table> tables, std::span<const Feature> features,
                                         const PlanRequest& request, const PlanFormat& format) {
  std::vector<SearchStart> starts;
  Movement movement = request.movement;  // whose dedup is settled by what travels
  movement.dedup = Dedup::automatic;
  for (const Planner& planner : planners) {
    if (planner.place == place_search) continue;
    try {
      const Plan plan = make_plan(planner.name, tables, features, request);
      require_supported(plan, {tables.begin(), tables.end()}, {features.begin(), features.end()}, movement);
      if (!can_express(format, plan, tables, features)) continue;
      starts.push_back({std::string(planner.name), plan.tables});
    } catch (const InputError&) {
      // Nothing to begin with, which is no problem of the search.
    }
  }
  return starts;
}

}  // namespace

std::vector<TablePlacement> place_search(std::span<const Table> tables, std::span<const Feature> features,
                                         const PlanRequest& request) {
  const LookupStatistics statistics(tables, features, request.ids);
  const StepContext step{.statistics = statistics,
                         .ranks = request.ranks,
                         .ranks_per_node = request.node_size(),
                         .global_batch = request.global_batch,
                         .movement = request.movement};
  const PlanFormat& format = choice_named(plan_formats, "plan format", request.settings.text("format"));
  std::string options = request.settings.text("options");
  const bool all = options == search_settings.front().usual;
  if (all && !format.options_of_search.empty()) options = format.options_of_search;
  SearchSettings settings{.memory = {},
                          .seconds = request.settings.number("seconds"),
                          .anneals = is_on(request, "anneal"),
                          .seed = static_cast<std::uint64_t>(
                              request.settings.maybe_whole("seed").value_or(static_cast<std::int64_t>(request.seed))),
                          .families = joined_by_plus(options)};
  if (is_on(request, "tt")) settings.families.push_back("tt");
  const double reserve = request.settings.number("reserve");
  if (reserve > 100)
    throw InputError(fmt::format("planner 'search': reserve is a percentage, at most 100, not {}", reserve));
  if (request.memory) settings.memory = static_cast<double>(*request.memory) * (1.0 - reserve / 100);
  const MachineModel& machine = request.machine ? *request.machine : described_cluster();
  // Those of others may place tables in any way.
  const auto starts = all ? plans_of_others(tables, features, request, format) : std::vector<SearchStart>();
  SearchResult result = search(step, machine, settings, starts);
  if (request.remarks) request.remarks->push_back(result.report.text());
  return std::move(result.placements);
}

}  // namespace shardmark::placement
