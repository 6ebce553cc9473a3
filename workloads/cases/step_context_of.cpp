// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/step_context_of.hpp"

namespace shardmark {

StepContext step_context_of(const LookupStatistics& statistics, const Workload& workload, const Plan& plan,
                            const Case& how, int ranks_per_node) {
  return {.statistics = statistics,
          .ranks = plan.ranks,
          .ranks_per_node = ranks_per_node,
          .global_batch = workload.global_batch,
          .movement = how.movement,
          .weighted = workload.ids.weighted,
          .exchange = how.exchange.name(),
          .groups = count_groups(group_of_tables(how.groups, plan, workload.tables, workload.features))};
}

}  // namespace shardmark
