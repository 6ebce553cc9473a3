// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  double loss_share() const override { return loss_; }
  std::span<const float> logits() const override { return logits_; }

 private:
  std::vector<std::vector<float>> weights_;  ///< by feature, [width]
  FeatureVectors vectors_;
  std::vector<float> logits_, gradients_;
  double loss_ = 0.0;
};

}  // namespace shardmark::workloads
