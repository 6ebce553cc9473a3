// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/step/dense/dense_model.hpp"
#include "workloads/step/flight.hpp"

namespace shardmark::workloads {

/// Takes one training step; its source reads as the data walk. Collective. Returns what each phase cost this rank.
PhaseCosts training_step(Flight& flight, const StepInput& input, DenseModel& dense);

/// Does the same without a model: the gradients are those of the input.
PhaseCosts training_step(Flight& flight, const StepInput& input);

// These are the phases of a step, for one group of tables. Each continues where the one before stopped; all but lookup
// and apply_optimizer are collective. training_step.cpp has them in order.

/// Sends ids to the owners of their rows.
void input_dist(GroupFlight& flight, const StepInput& input);

/// Pools at the owners the rows of the bags that came, and reads those that are requested one by one.
void lookup(GroupFlight& flight);

/// Sends vectors and rows home to their samples, where parts are added and means divided.
void output_dist(GroupFlight& flight, const StepInput& input);

/// These are the two parts of output_dist: vectors go home; there outputs are made of them, once.
void send_vectors(GroupFlight& flight);
void make_outputs(GroupFlight& flight, const StepInput& input);

/// Sends gradients back over the same route. gradients: of every pooled output, [bags, dim] of each feature in turn
/// (StepInput::first_element).
void grad_dist(GroupFlight& flight, const StepInput& input, const ConstDeviceArray<float>& gradients);

/// Adds up the gradients of each distinct row; of replicated tables those of all ranks.
void sum_gradients(GroupFlight& flight, const StepInput& input, const kernels::UpdateStep& now);

/// Updates every row by its sum.
void apply_optimizer(GroupFlight& flight, const kernels::UpdateStep& now);

}  // namespace shardmark::workloads
