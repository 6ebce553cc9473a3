// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/dense/matrix_view.hpp"

namespace shardmark::kernels {

/// Sums up the binary cross entropies of the samples (reference/dense/loss.hpp), of whose mean over `global_batch`
/// samples they have a share: terms in fp32, their sum, loss [1], in double. gradient [samples]: that of the mean by
/// each logit. logits, labels [samples].
void logit_loss(const float* logits, const float* labels, std::int64_t samples, std::int64_t global_batch,
                float* gradient, const Array<DenseExecution, double>& loss);

/// Computes the loss of the exact head (reference/dense/exact_head.hpp): sum of max(z, 0) - y z; gradient: [z > 0] - y.
void exact_loss(const float* logits, const float* labels, std::int64_t samples, float* gradient,
                const Array<DenseExecution, double>& loss);

}  // namespace shardmark::kernels
