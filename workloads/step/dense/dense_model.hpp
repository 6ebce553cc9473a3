// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "workloads/cases/options.hpp"
#include "workloads/step/flight.hpp"

namespace shardmark::workloads {

/// Is the dense part of a model: it computes the gradients of the pooled outputs of a rank's samples. The input has the
/// samples' numerical features and labels.
class DenseModel {
 public:
  virtual ~DenseModel() = default;

  /// Returns the gradients of all outputs, [bags, dim] of each feature in turn (StepInput::first_element); valid until
  /// the next call. outputs: Flight::output, complete. What is trained has been updated, alike on all ranks. Adds to
  /// `costs` the bytes and seconds of its own communication. Collective.
  virtual ConstDeviceArray<float> run(const StepInput& input, const Flight& outputs, PhaseCosts& costs) = 0;

  /// Starts again: first weights, no optimizer state, step 1 next.
  virtual void reset() {}

  /// Return the terms of this rank in the loss of the last run(), and the logits of its samples; without a model none.
  virtual double loss_share() const { return 0.0; }
  virtual std::span<const float> logits() const { return {}; }

  /// Return weights and biases in the order of reference::dense_blocks, and the vectors of their optimizer state.
  virtual std::span<const float> parameters() const { return {}; }
  virtual std::span<const float> state(int) const { return {}; }
  /// Sets these as they were after so many steps; what follows is, bit for bit, what would have followed then. state:
  /// by vector.
  virtual void resume(std::span<const float> /*parameters*/, const std::vector<std::vector<float>>& /*state*/,
                      std::int64_t /*steps*/) {}
};

/// Is no model: returns the gradients that the input brings, which depend on nothing but seed, step, feature, sample
/// and column.
class SyntheticGradient : public DenseModel {
 public:
  ConstDeviceArray<float> run(const StepInput& input, const Flight&, PhaseCosts&) override { return input.gradients; }
};

/// Makes the model that the options select, behind the workload's features. Collective. Throws InputError naming the
/// workload when it has no such model. The options must outlive it.
std::unique_ptr<DenseModel> make_dense_model(const comm::Communicator& comm, const RunOptions& options);

}  // namespace shardmark::workloads
