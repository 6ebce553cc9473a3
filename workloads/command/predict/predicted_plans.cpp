// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/predict/predicted_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/placement/cost/machine_file.hpp"
#include "comm/placement/cost/without_term.hpp"
#include "comm/placement/idle_ranks.hpp"
#include "comm/placement/memory_fit.hpp"
#include "comm/placement/named_plan.hpp"
#include "comm/placement/support.hpp"
#include "reference/dense/dense_spec.hpp"
#include "reference/error.hpp"
#include "workloads/batches/workload_statistics.hpp"
#include "workloads/cases/placement_inputs.hpp"
#include "workloads/command/machine_options.hpp"

namespace shardmark::workloads {
namespace {

Bound bound_of(const placement::StepPrediction& step, int nodes) {
  const auto longest = std::ranges::max_element(step.phases, {}, &placement::PhasePrediction::seconds);
  Bound bound{static_cast<Phase>(longest - step.phases.begin()), {}};
  const double computing = longest->seconds - longest->exchange;
  if (longest->exchange > computing) {
    const bool reduces = bound.phase == Phase::update || bound.phase == Phase::dense;
    bound.by = fmt::format("{} {}", reduces ? "all-reduce" : "exchange", nodes > 1 ? "between nodes" : "inside");
  } else {
    const bool alike = longest->mean - longest->exchange > 0.9 * computing;
    bound.by = alike ? "all ranks" : fmt::format("rank {}", longest->slowest_rank);
  }
  return bound;
}

void judge_memory(const placement::Plan& plan, const PredictedCases& cases, PredictedPlan& predicted) {
  const auto fullest = std::ranges::max_element(predicted.step.memory);
  predicted.fullest_rank = static_cast<int>(fullest - predicted.step.memory.begin());
  predicted.memory = *fullest;
  if (cases.machine.memory_per_rank > 0.0)
    predicted.missing = std::max(0.0, predicted.memory - cases.machine.memory_per_rank);
  std::vector<double> room;
  for (const double bytes : predicted.step.memory) room.push_back(cases.machine.memory_per_rank - bytes);
  if (predicted.missing > 0.0)
    predicted.relief = placement::relief(plan, cases.options.workload.tables, predicted.fullest_rank, room);
  predicted.idle_ranks = static_cast<int>(placement::idle_ranks(plan).size());
}

PredictedPlan predict(const PredictedCases& cases, const placement::IdStatistics& ids,
                      const placement::LookupStatistics& statistics, const Workload& workload, Scaling scaling,
                      const std::string& name, int ranks) {
  const int most_per_node = cases.machine.ranks_per_node;
  const int per_node = most_per_node > 0 ? std::min(most_per_node, ranks) : ranks;
  PredictedPlan predicted{.plan = name,
                          .ranks = ranks,
                          .nodes = (ranks + per_node - 1) / per_node,
                          .scaling = scaling,
                          .batch = workload.global_batch};
  try {
    placement::require_known(cases.machine, predicted.nodes);
  } catch (const InputError& error) {
    predicted.problem = error.what();
    predicted.of_ranks = true;
    return predicted;
  }
  placement::PlanRequest request = plan_request_of(workload, ranks, cases.config.movement);
  request.ranks_per_node = per_node;
  request.machine = &cases.machine;
  request.ids = ids;
  if (cases.machine.memory_per_rank > 0.0) request.memory = static_cast<std::int64_t>(cases.machine.memory_per_rank);
  placement::Plan plan;
  try {
    plan = placement::named_plan(name, workload.tables, workload.features, request);
    placement::require_supported(plan, workload.tables, workload.features, cases.config.movement_in_effect());
  } catch (const InputError& error) {
    predicted.problem = error.what();
    return predicted;
  }
  predicted.step = placement::predict_step(
      step_context_of(statistics, workload, plan, cases.config, per_node, cases.options.dense.kind), cases.machine,
      plan);
  predicted.bound = bound_of(predicted.step, predicted.nodes);
  judge_memory(plan, cases, predicted);
  predicted.placed = std::move(plan);
  return predicted;
}

}  // namespace

PredictedCases cases_with(RunOptions options, const std::vector<GivenOption>& given) {
  PredictedCases cases;
  std::vector<Case> config{Case{}};
  set_options(options, config, given);
  cases.options = with_storage(std::move(options), config.front().storage);
  cases.config = config.front();
  return cases;
}

std::vector<GivenOption> options_of(const placement::Software& software) {
  std::vector<GivenOption> given;
  for (const std::string& text : software.options) given.push_back(given_setting(text));
  return given;
}

placement::MachineModel without_all(placement::MachineModel machine, std::span<const std::string> names) {
  for (const std::string& name : names)
    machine = option_value("--without", name,
                           [&](const std::string& text) { return placement::without(std::move(machine), text); });
  return machine;
}

std::string Bound::text() const { return fmt::format("{}, {}", name_of(phase), by); }

std::int64_t PredictedCases::batch(Scaling scaling, int on) const {
  Workload workload = options.workload;
  const int fewest = ranks.front();
  share_batch(workload, scaling == Scaling::weak ? on : fewest);
  if (scaling == Scaling::strong || workload.batch_per_rank > 0) return workload.global_batch;
  const double samples = std::round(static_cast<double>(workload.global_batch) / fewest * on);
  if (samples >= 0x1p63)
    throw InputError(fmt::format("--batch {} on {} ranks is more samples on {} than 64 bits count; use a smaller one",
                                 workload.global_batch, fewest, on));
  return on == fewest ? workload.global_batch : static_cast<std::int64_t>(samples);
}

std::vector<PredictedPlan> predict_plans(const PredictedCases& cases) {
  const Workload& workload = cases.options.workload;
  const placement::IdStatistics ids =
      id_statistics_of(workload, cases.options.data, [](const std::string& text) { fmt::print(stderr, "{}\n", text); });
  const placement::LookupStatistics statistics(workload.tables, workload.features, ids);
  std::vector<PredictedPlan> predicted;
  for (const Scaling scaling : cases.scalings)
    for (const int ranks : cases.ranks) {
      Workload of_ranks = workload;
      of_ranks.global_batch = cases.batch(scaling, ranks);
      for (const std::string& plan : cases.plans)
        predicted.push_back(predict(cases, ids, statistics, of_ranks, scaling, plan, ranks));
    }
  if (std::ranges::none_of(predicted, &PredictedPlan::predicted)) throw InputError(predicted.front().problem);
  return predicted;
}

}  // namespace shardmark::workloads
