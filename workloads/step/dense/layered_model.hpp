// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "kernels/dense/dense_layers.hpp"
#include "kernels/dense/dense_update.hpp"
#include "reference/dense/dense_parameters.hpp"
#include "workloads/step/dense/dense_gradient_sums.hpp"
#include "workloads/step/dense/dense_model.hpp"
#include "workloads/step/dense/feature_vectors.hpp"

namespace shardmark::workloads {

/// Is a model with layers (reference/dense/dense_pass.hpp), data parallel: every rank has all weights, computes its own
/// samples, and the gradients of weights are summed over the ranks while the backward pass goes on; each bucket of them
/// is then updated.
class LayeredModel : public DenseModel {
 public:
  /// Makes the model. Collective. The communicator must outlive it. Throws InputError as check_dense and
  /// check_dense_optimizer do.
  LayeredModel(const comm::Communicator& comm, const DenseSpec& spec, const Optimizer& optimizer, std::uint64_t seed);

  ConstDeviceArray<float> run(const StepInput& input, const Flight& outputs, PhaseCosts& costs) override;
  void reset() override;
  double loss_share() const override { return layers_.loss(); }
  std::span<const float> logits() const override { return logits_on_host_.read(layers_.logits()); }
  std::span<const float> parameters() const override { return parameters_on_host_.read(layers_.parameters()); }
  std::span<const float> state(int vector) const override { return state_on_host_[vector].read(state_[vector]); }
  void resume(std::span<const float> parameters, const std::vector<std::vector<float>>& state,
              std::int64_t steps) override;

 private:
  /// Runs backward stages until a bucket is full or there are no more.
  DeviceArray<float> fill_bucket(const kernels::DenseBatch& batch);
  void update(const DeviceArray<float>& gradients);
  std::int64_t parameter_count() const { return static_cast<std::int64_t>(layers_.parameters().extent(0)); }

  Optimizer optimizer_;
  std::uint64_t seed_;
  kernels::DenseLayers layers_;
  std::array<DeviceArray<float>, kernels::most_state_vectors> state_;
  std::int64_t steps_ = 0, next_stage_ = 0;
  FeatureVectors vectors_;
  SummedGradients sums_;
  mutable HostElements<float> logits_on_host_, parameters_on_host_;
  mutable std::array<HostElements<float>, kernels::most_state_vectors> state_on_host_;
};

}  // namespace shardmark::workloads
