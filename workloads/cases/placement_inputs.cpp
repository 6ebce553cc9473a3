// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/placement_inputs.hpp"

#include "workloads/cases/dense_spec_of.hpp"

namespace shardmark::workloads {

placement::IdStatistics id_statistics_of(const IdSpec& ids) {
  return {.alpha = ids.distribution == IdDistribution::power_law ? ids.alpha : 0.0,
          .scattered = ids.shuffled || ids.shift > 0 || ids.drift.on(),
          .ragged = ids.ragged,
          .fresh = ids.fresh,
          .life = static_cast<double>(2 * ids.half_life)};
}

placement::PlanRequest plan_request_of(const Workload& workload, int ranks, const placement::Movement& movement) {
  placement::PlanRequest request{.ranks = ranks};
  request.replicate_rows = workload.replicate_rows;
  request.global_batch = workload.global_batch;
  request.scale = workload.scale;
  request.ids = id_statistics_of(workload.ids);
  request.movement = movement;
  return request;
}

placement::StepContext step_context_of(const placement::LookupStatistics& statistics, const Workload& workload,
                                       const placement::Plan& plan, const Case& config, int ranks_per_node,
                                       DenseKind dense) {
  placement::StepContext step{.statistics = statistics,
                              .ranks = plan.ranks,
                              .ranks_per_node = ranks_per_node,
                              .global_batch = workload.global_batch,
                              .movement = config.movement,
                              .weighted = workload.ids.weighted,
                              .exchange = config.exchange.name(),
                              .groups = placement::count_groups(
                                  placement::group_of_tables(config.groups, plan, workload.tables, workload.features)),
                              .prefetches = config.async.on()};
  if (!has_layers(dense)) return step;
  const DenseWork work = dense_work(dense_spec_of(workload, dense));
  step.dense_flops = static_cast<double>(work.flops());
  step.dense_parameters = static_cast<double>(work.parameters);
  return step;
}

}  // namespace shardmark::workloads
