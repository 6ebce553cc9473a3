// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/dense/matrix_list.hpp"
#include "reference/dense/exact_head.hpp"
#include "workloads/step/dense/dense_model.hpp"
#include "workloads/step/dense/feature_vectors.hpp"

namespace shardmark::workloads {

/// Is the model of reference/dense/exact_head.hpp: a linear head of powers of two, not trained.
class ExactModel : public DenseModel {
 public:
  /// Takes `widths`: of the features.
  ExactModel(const ExactHead& head, const std::vector<std::int64_t>& widths);

  ConstDeviceArray<float> run(const StepInput& input, const Flight& outputs, PhaseCosts&) override;
  double loss_share() const override { return loss_on_host_.read(loss_).front(); }
  std::span<const float> logits() const override { return logits_on_host_.read(logits_); }

 private:
  DeviceArray<float> weights_;  ///< of one feature after the other, [width]
  FeatureVectors vectors_;
  kernels::MatrixList<const float> outputs_;
  kernels::MatrixList<float> gradients_;
  DeviceArray<float> logits_;
  DeviceScratch<float> logit_scratch_{"shardmark::logits"}, logit_gradients_{"shardmark::logit_gradients"};
  DeviceArray<double> loss_ = kernels::allocate<Execution, double>("shardmark::loss", 1);
  mutable HostElements<float> logits_on_host_;
  mutable HostElements<double> loss_on_host_;
};

}  // namespace shardmark::workloads
