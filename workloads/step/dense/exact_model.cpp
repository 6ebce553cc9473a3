// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/dense/exact_model.hpp"

#include "kernels/dense/logit_loss.hpp"

namespace shardmark::workloads {
namespace {

DeviceArray<float> weights_of(const ExactHead& head, const std::vector<std::int64_t>& widths) {
  std::vector<float> weights;
  for (std::size_t f = 0; f < widths.size(); ++f)
    for (std::int64_t c = 0; c < widths[f]; ++c) weights.push_back(head(static_cast<std::int64_t>(f), c));
  return kernels::array_of(Execution(), weights, "shardmark::exact_head");
}

}  // namespace

ExactModel::ExactModel(const ExactHead& head, const std::vector<std::int64_t>& widths)
    : weights_(weights_of(head, widths)), vectors_(widths) {}

ConstDeviceArray<float> ExactModel::run(const StepInput& input, const Flight& outputs, PhaseCosts&) {
  const Execution exec;
  vectors_.set(input, outputs);
  outputs_.set(vectors_.outputs);
  gradients_.set(vectors_.gradients);
  const auto logits = logits_ = logit_scratch_.first(vectors_.samples);
  const auto of_logits = logit_gradients_.first(vectors_.samples);
  const auto weights = weights_;
  const auto values = outputs_.in_kernels();
  Kokkos::parallel_for(
      "shardmark::exact_logits", kernels::static_range(exec, vectors_.samples), KOKKOS_LAMBDA(const std::int64_t s) {
        float z = 0.0F;
        for (std::size_t f = 0; f < values.extent(0); ++f)
          for (std::int64_t c = 0; c < values(f).matrix.columns; ++c)
            z += weights(values(f).first + c) * values(f).matrix.row(s)[c];
        logits(s) = z;
      });
  kernels::exact_loss(logits.data(), input.labels.data(), vectors_.samples, of_logits.data(), loss_);
  const auto gradients = gradients_.in_kernels();
  Kokkos::parallel_for(
      "shardmark::exact_gradients", kernels::static_range(exec, vectors_.samples), KOKKOS_LAMBDA(const std::int64_t s) {
        for (std::size_t f = 0; f < gradients.extent(0); ++f)
          for (std::int64_t c = 0; c < gradients(f).matrix.columns; ++c)
            gradients(f).matrix.row(s)[c] = of_logits(s) * weights(gradients(f).first + c);
      });
  return vectors_.written();
}

}  // namespace shardmark::workloads
