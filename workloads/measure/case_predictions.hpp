// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/placement/cost/step_cost.hpp"
#include "results/record.hpp"
#include "workloads/measure/job.hpp"

namespace shardmark::workloads {

/// Returns the number of ranks on the node with most: predictions take nodes to be alike.
int ranks_per_node(const comm::Communicator& comm);

/// Returns what job.machine predicts for every case, before any is run, where anything can be predicted; nothing for
/// all without a machine. Cases of one plan share what is known of its lookups.
std::vector<std::optional<placement::StepPrediction>> predict_cases(const Job& job);

/// Returns the prediction of steps that are prepared before they are taken, from that of one that is not:
///   max(prefetched / T, rest, computing, exchanges)
/// in seconds of the phases that T threads prepare (DeepRec's formula, with those that are left to the step), but no
/// less than all phases compute, since kernels take turns, or send, since they share links. It is the same as `step`
/// inline; nothing in mode patched, where it is left to chance how often vectors are sent again.
std::optional<placement::StepPrediction> prepared_ahead(const placement::StepPrediction& step, const Async& async);

/// Writes a prediction into a record: predicted_ms, predicted_ms and least_ms of its phases, and in its details the
/// memory of the rank that needs most.
void record_prediction(const placement::StepPrediction& predicted, results::CaseRecord& record);

}  // namespace shardmark::workloads
