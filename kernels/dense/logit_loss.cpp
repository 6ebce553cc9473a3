// SPDX-License-Identifier: Apache-2.0
#include "kernels/dense/logit_loss.hpp"

#include "reference/dense/loss.hpp"

namespace shardmark::kernels {
namespace {

/// Returns the sum of term(sample) over the samples.
template <class Term>
double sum_over_samples(std::int64_t samples, const Term& term) {
  double sum = 0.0;
  Kokkos::parallel_reduce(
      "shardmark::logit_loss", Kokkos::RangePolicy<DenseExecution, Kokkos::IndexType<std::int64_t>>(0, samples),
      [&](const std::int64_t s, double& part) { part += double{term(s)}; }, sum);
  return sum;
}

}  // namespace

double logit_loss(const float* logits, const float* labels, std::int64_t samples, std::int64_t global_batch,
                  float* gradient) {
  const double share = 1.0 / static_cast<double>(global_batch);
  const auto fp32_share = static_cast<float>(share);
  return share * sum_over_samples(samples, [&](std::int64_t s) {
           gradient[s] = reference::logit_gradient(logits[s], labels[s]) * fp32_share;
           return reference::logit_loss(logits[s], labels[s]);
         });
}

double exact_loss(const float* logits, const float* labels, std::int64_t samples, float* gradient) {
  return sum_over_samples(samples, [&](std::int64_t s) {
    gradient[s] = (logits[s] > 0.0F ? 1.0F : 0.0F) - labels[s];
    return std::max(logits[s], 0.0F) - labels[s] * logits[s];
  });
}

}  // namespace shardmark::kernels
