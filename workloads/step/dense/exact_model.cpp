// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/dense/exact_model.hpp"

#include "kernels/dense/logit_loss.hpp"

namespace shardmark::workloads {

ExactModel::ExactModel(const ExactHead& head, const std::vector<std::int64_t>& widths) : vectors_(widths) {
  for (std::size_t f = 0; f < widths.size(); ++f) {
    auto& of_feature = weights_.emplace_back();
    for (std::int64_t c = 0; c < widths[f]; ++c) of_feature.push_back(head(static_cast<std::int64_t>(f), c));
  }
}

ConstDeviceArray<float> ExactModel::run(const StepInput& input, const Flight& outputs, PhaseCosts&) {
  vectors_.set(input, outputs);
  logits_.resize(static_cast<std::size_t>(vectors_.samples));
  gradients_.resize(logits_.size());
  kernels::for_each_sample(vectors_.samples, [&](std::int64_t s) {
    float z = 0.0F;
    for (std::size_t f = 0; f < weights_.size(); ++f)
      for (std::size_t c = 0; c < weights_[f].size(); ++c) z += weights_[f][c] * vectors_.outputs[f].row(s)[c];
    logits_[s] = z;
  });
  loss_ = kernels::exact_loss(logits_.data(), input.labels.data(), vectors_.samples, gradients_.data());
  kernels::for_each_sample(vectors_.samples, [&](std::int64_t s) {
    for (std::size_t f = 0; f < weights_.size(); ++f)
      for (std::size_t c = 0; c < weights_[f].size(); ++c)
        vectors_.gradients[f].row(s)[c] = gradients_[s] * weights_[f][c];
  });
  return vectors_.written();
}

}  // namespace shardmark::workloads
