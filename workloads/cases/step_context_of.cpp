// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/step_context_of.hpp"

namespace shardmark::workloads {

placement::StepContext step_context_of(const placement::LookupStatistics& statistics, const Workload& workload,
                                       const placement::Plan& plan, const Case& how, int ranks_per_node) {
  return {.statistics = statistics,
          .ranks = plan.ranks,
          .ranks_per_node = ranks_per_node,
          .global_batch = workload.global_batch,
          .movement = how.movement,
          .weighted = workload.ids.weighted,
          .exchange = how.exchange.name(),
          .groups = placement::count_groups(
              placement::group_of_tables(how.groups, plan, workload.tables, workload.features))};
}

}  // namespace shardmark::workloads
