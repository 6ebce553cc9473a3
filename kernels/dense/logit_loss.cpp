// SPDX-License-Identifier: Apache-2.0
#include "kernels/dense/logit_loss.hpp"

#include "reference/dense/loss.hpp"

namespace shardmark::kernels {

/// Holds the logits and labels of the samples, and what is made of them.
struct Logits {
  const float *logits, *labels;
  float* gradient;
};

/// Is a term of the mean over samples of which each has this share.
struct LogitLoss {
  Logits of;
  float share;

  KOKKOS_FUNCTION void operator()(const std::int64_t s, double& sum) const {
    of.gradient[s] = reference::logit_gradient(of.logits[s], of.labels[s]) * share;
    sum += double{reference::logit_loss(of.logits[s], of.labels[s])};
  }
};

/// Is a term of the loss of the exact head.
struct ExactLoss {
  Logits of;

  KOKKOS_FUNCTION void operator()(const std::int64_t s, double& sum) const {
    const float logit = of.logits[s], label = of.labels[s];
    of.gradient[s] = (logit > 0.0F ? 1.0F : 0.0F) - label;
    sum += double{Kokkos::max(logit, 0.0F) - label * logit};
  }
};

/// Sets loss to the sum of term(sample) over the samples; where a device has it, the host does not wait.
template <class Term>
void sum_over_samples(std::int64_t samples, const Term& term, const Array<DenseExecution, double>& loss) {
  Kokkos::parallel_reduce("shardmark::logit_loss", static_range(DenseExecution(), samples), term,
                          Kokkos::View<double, DenseExecution::memory_space>(loss.data()));
}

void logit_loss(const float* logits, const float* labels, std::int64_t samples, std::int64_t global_batch,
                float* gradient, const Array<DenseExecution, double>& loss) {
  const auto share = static_cast<float>(1.0 / static_cast<double>(global_batch));
  sum_over_samples(samples, LogitLoss{{logits, labels, gradient}, share}, loss);
}

void exact_loss(const float* logits, const float* labels, std::int64_t samples, float* gradient,
                const Array<DenseExecution, double>& loss) {
  sum_over_samples(samples, ExactLoss{{logits, labels, gradient}}, loss);
}

}  // namespace shardmark::kernels
