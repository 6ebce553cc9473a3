// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/cost/step_cost.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {

/// What predictions of a workload's steps know beside the plan. statistics: of its tables and features. The dense half
/// is left out, as in the steps that are measured.
placement::StepContext step_context_of(const placement::LookupStatistics& statistics, const Workload& workload,
                                       const placement::Plan& plan, const Case& how, int ranks_per_node);

}  // namespace shardmark::workloads
