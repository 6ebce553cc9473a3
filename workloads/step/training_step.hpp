// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/step/dense/dense_model.hpp"

namespace shardmark::workloads {

/// One training step as the data walks. Collective. Returns what each phase cost this rank.
PhaseCosts training_step(Flight& flight, const StepInput& input, DenseModel& dense);

/// The same without a model: the gradients are those of the input.
PhaseCosts training_step(Flight& flight, const StepInput& input);

}  // namespace shardmark::workloads
