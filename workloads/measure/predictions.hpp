// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "comm/placement/cost/step_cost.hpp"
#include "workloads/measure/prepare.hpp"

namespace shardmark::workloads {

/// Of the node with most: predictions take nodes to be alike.
int ranks_per_node(const comm::Communicator& comm);

/// What job.machine says of every case, before any is run, where anything can be said; of none without a machine. Cases
/// of one plan share what is known of its lookups.
std::vector<std::optional<placement::StepPrediction>> predict_cases(const Job& job);

/// Of steps that are prepared ahead, from one that is not:
///   max(ahead / T, rest, computing, exchanges)
/// seconds of the phases that T threads prepare (DeepRec's formula, with those that are left to the step), but no less
/// than all phases compute, since kernels take turns, or send, since they share links. The same as `step` inline;
/// nothing in mode patched, whose vectors are sent again as often as chance has it.
std::optional<placement::StepPrediction> prepared_ahead(const placement::StepPrediction& step, const Async& async);

/// Into a record: predicted_ms, predicted_ms and least_ms of its phases, and in its details the memory of the rank that
/// needs most.
void record_prediction(const placement::StepPrediction& predicted, results::CaseRecord& record);

}  // namespace shardmark::workloads
