// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/planner.hpp"
#include "comm/placement/test/random_plan.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {

inline placement::Plan plan_of(std::string_view planner, const RunOptions& options, int ranks) {
  return placement::make_plan(planner, options.workload.tables, options.workload.features,
                              {.ranks = ranks, .replicate_rows = options.workload.replicate_rows});
}

}  // namespace shardmark::workloads
