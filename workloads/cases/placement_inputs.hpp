// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/cost/step_cost.hpp"
#include "comm/placement/plan_request.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {

/// Returns the law by which a workload's ids are drawn. Ids that drift are taken to be popular anywhere, which holds
/// for many batches, not for one.
placement::IdStatistics id_statistics_of(const IdSpec& ids);

/// Returns the request to a planner for this workload on so many ranks, its data moving so. Nodes, memory and machine,
/// which a workload does not know, are left to the caller.
placement::PlanRequest plan_request_of(const Workload& workload, int ranks, const placement::Movement& movement = {});

/// Returns what predictions of a workload's steps take beside the plan. statistics: of its tables and features; dense:
/// the model behind the embeddings. Throws InputError as dense_spec_of does.
placement::StepContext step_context_of(const placement::LookupStatistics& statistics, const Workload& workload,
                                       const placement::Plan& plan, const Case& config, int ranks_per_node,
                                       DenseKind dense);

}  // namespace shardmark::workloads
