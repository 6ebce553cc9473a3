// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "workloads/step/flight.hpp"

namespace shardmark {

/// The dense half of a model: from the pooled outputs of a rank's samples to their gradients. The input has the
/// samples' dense values and labels.
class DenseModel {
 public:
  virtual ~DenseModel() = default;

  /// Gradients of all outputs, [bags, dim] of each feature in turn (StepInput::first_element); valid until the next
  /// call. outputs: Flight::output, complete.
  virtual ConstDeviceArray<float> run(const StepInput& input, const Flight& outputs) = 0;
};

/// No model: the gradients that the input brings, which depend on nothing but seed, step, feature, sample and column.
class SyntheticGradient : public DenseModel {
 public:
  ConstDeviceArray<float> run(const StepInput& input, const Flight&) override { return input.gradients; }
};

}  // namespace shardmark
