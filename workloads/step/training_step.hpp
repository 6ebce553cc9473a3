// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/step/dense/dense_model.hpp"
#include "workloads/step/flight.hpp"

namespace shardmark::workloads {

/// One training step as the data walks. Collective. Returns what each phase cost this rank.
PhaseCosts training_step(Flight& flight, const StepInput& input, DenseModel& dense);

/// The same without a model: the gradients are those of the input.
PhaseCosts training_step(Flight& flight, const StepInput& input);

// The phases of a step, for one group of tables. Each continues where the one before stopped; all but lookup and
// apply_optimizer are collective. training_step.cpp has them in order.

/// Ids go to the owners of their rows.
void input_dist(GroupFlight& flight, const StepInput& input);

/// Owners pool the rows of the bags that came, and read those that are asked for one by one.
void lookup(GroupFlight& flight);

/// Vectors and rows go home to their samples, where parts are added and means divided.
void output_dist(GroupFlight& flight, const StepInput& input);

/// The two parts of output_dist: vectors go home; there outputs are made of them, once.
void send_vectors(GroupFlight& flight);
void make_outputs(GroupFlight& flight, const StepInput& input);

/// Gradients take the same road back. gradients: of every pooled output, [bags, dim] of each feature in turn
/// (StepInput::first_element).
void grad_dist(GroupFlight& flight, const StepInput& input, const ConstDeviceArray<float>& gradients);

/// Adds up the gradients of each distinct row; of replicated tables those of all ranks.
void sum_gradients(GroupFlight& flight, const StepInput& input, const kernels::UpdateStep& now);

/// Updates every row by its sum.
void apply_optimizer(GroupFlight& flight, const kernels::UpdateStep& now);

}  // namespace shardmark::workloads
