// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/plan_request_of.hpp"

namespace shardmark::workloads {

placement::IdStatistics id_statistics_of(const IdSpec& ids) {
  return {.alpha = ids.distribution == IdDistribution::power_law ? ids.alpha : 0.0,
          .scattered = ids.shuffled || ids.drift > 0,
          .ragged = ids.ragged};
}

placement::PlanRequest plan_request_of(const Workload& workload, int ranks, const placement::Movement& movement) {
  placement::PlanRequest request{.ranks = ranks};
  request.replicate_rows = workload.replicate_rows;
  request.global_batch = workload.global_batch;
  request.ids = id_statistics_of(workload.ids);
  request.movement = movement;
  return request;
}

}  // namespace shardmark::workloads
