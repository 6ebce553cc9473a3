// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/net_setup.hpp"

#include <algorithm>
#include <filesystem>

#include "comm/placement/formats/plan_json.hpp"
#include "comm/placement/plan_check.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/support.hpp"
#include "datasets/criteo_convert.hpp"
#include "datasets/criteo_generate.hpp"
#include "workloads/cases/async.hpp"
#include "workloads/cases/options.hpp"
#include "workloads/cases/placement_inputs.hpp"

namespace shardmark::workloads {
namespace {

int ranks_per_node(const NetCase& one) {
  if (one.leaders.empty()) return one.ranks;
  return static_cast<int>(std::ranges::count(one.leaders, one.leaders.front()));
}

placement::Plan plan_of(const NetCase& one, const RunOptions& options, const placement::Movement& movement) {
  const Workload& workload = options.workload;
  if (one.plan.is_string()) {
    placement::PlanRequest request = plan_request_of(workload, one.ranks, movement);
    request.seed = options.seed;
    request.ranks_per_node = ranks_per_node(one);
    return placement::make_plan(one.plan.get<std::string>(), workload.tables, workload.features, request);
  }
  placement::Plan plan = placement::plan_from_json(one.plan.dump(), "plan", workload.tables);
  placement::require_sound(plan, workload.tables, "plan");
  if (plan.ranks != one.ranks) throw InputError("plan: it is for another number of ranks");
  return plan;
}

/// Gives tables whose keys a file has room for all that the steps may bring: a rank that refused more than were
/// expected, as a program may, would leave the others waiting.
void make_room(RunOptions& options) {
  if (options.data.file.empty()) return;
  Workload& workload = options.workload;
  std::vector<std::int64_t> ids(workload.tables.size(), 0);
  for (const Feature& feature : workload.features) ids[feature.table] += feature.hotness;
  for (std::size_t t = 0; t < ids.size(); ++t)
    if (Table& table = workload.tables[t]; table.any_key)
      table.room = std::max(table.room, ids[t] * workload.global_batch * options.most_batches());
}

}  // namespace

CaseSetup set_up(const NetCase& one, const PoolFacts& facts) {
  CaseSetup setup;
  RunOptions& options = setup.requested;
  options.workload = workload_of(one);
  std::vector<Case> cases(1);
  set_options(options, cases, given_options(one));
  share_batch(options.workload, one.ranks);
  options.seed = one.seed;
  options.checked_steps = one.steps;
  options.steps = 1;
  options.trained_steps = 0;
  expect_keys(options);
  make_room(options);
  if (cases.front().async.on()) cases.front().async.pool = pool_in_effect(cases.front().async.pool, facts);
  Case config = without_unused_async(std::move(cases)).front();
  PlannedTables planned{{}, with_storage(options, config.storage)};
  const Workload& workload = planned.options.workload;
  planned.plan = plan_of(one, planned.options, config.movement);
  planned.options.workload.tables = placement::stored(workload.tables, planned.plan);
  placement::require_supported(planned.plan, workload.tables, workload.features, config.movement_in_effect());
  require_async(planned.plan, workload.tables, workload.features, config);
  placement::group_of_tables(config.groups, planned.plan, workload.tables, workload.features);
  if (std::ranges::any_of(planned.plan.tables, [](const auto& table) { return table.storage.has_value(); }))
    config.storage.reset();
  setup.plans.push_back(std::move(planned));
  setup.cases.push_back({0, std::move(config)});
  return setup;
}

std::vector<std::string> sample_files(const std::string& folder) {
  constexpr datasets::CriteoRecipe recipe{.samples = 700, .seed = 3};
  const auto silent = [](std::int64_t) {};
  std::filesystem::create_directories(folder);
  const std::string text = folder + "/samples.tsv", packed = text + ".gz", converted = folder + "/samples.h5";
  for (const std::string& file : {text, packed})
    if (!std::filesystem::exists(file)) datasets::generate_criteo(file, recipe, silent);
  std::vector<std::int64_t> rows;
  for (std::int64_t column = 0; column < 26; ++column) rows.push_back(rows_of_sample_file(column));
  if (!std::filesystem::exists(converted))
    datasets::convert_criteo(text, converted, datasets::IdMapping::modulo(rows), {}, silent);
  return {text, packed, converted};
}

}  // namespace shardmark::workloads
