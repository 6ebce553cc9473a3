// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/predict/registration.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "comm/placement/cost/machine_file.hpp"
#include "comm/placement/formats/plan_json.hpp"
#include "results/environment.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/command/predict/predict_page.hpp"

namespace shardmark::workloads {
namespace {

results::RegisteredStep step_of(const PredictedCases& cases, const PredictedPlan& plan) {
  RunOptions options = cases.options;
  options.workload.global_batch = plan.batch;
  const std::vector<Table>& tables = options.workload.tables;
  return {.plan = plan.plan,
          .plan_digest = placement::plan_digest(plan.placed, tables),
          .ranks = plan.ranks,
          .nodes = plan.nodes,
          .step_ms = 1e3 * plan.step.seconds,
          .phases = phases_json(plan.step),
          .options = case_options(options, cases.config, plan.placed),
          .placement = nlohmann::ordered_json::parse(placement::plan_to_json(plan.placed, tables))};
}

}  // namespace

results::Registered registration(const PredictedCases& cases, std::span<const PredictedPlan> predicted, double within) {
  results::Registered registered;
  registered.time = results::utc_time();
  registered.build = results::build_json();
  registered.workload = cases.options.workload.name;
  registered.spec = to_json(cases.options.workload);
  const placement::MachineModel& machine = cases.machine;
  registered.machine = {machine.name, machine.source, machine.measured,
                        results::digest_of(placement::to_json(machine).dump())};
  registered.within = within;
  for (const PredictedPlan& plan : predicted) {
    if (!plan.predicted()) continue;
    results::RegisteredStep step = step_of(cases, plan);
    const bool again = std::ranges::any_of(registered.steps, [&](const results::RegisteredStep& other) {
      return other.plan_digest == step.plan_digest && other.ranks == step.ranks && other.options == step.options;
    });
    if (!again) registered.steps.push_back(std::move(step));
  }
  return registered;
}

}  // namespace shardmark::workloads
