// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/dense/matrix_view.hpp"

namespace shardmark::kernels {

/// Returns the share of these samples in the mean binary cross entropy over `global_batch` samples
/// (reference/dense/loss.hpp): terms in fp32, their sum in double. gradient [samples]: that of the mean by each logit.
/// logits, labels [samples].
double logit_loss(const float* logits, const float* labels, std::int64_t samples, std::int64_t global_batch,
                  float* gradient);

/// Returns the loss of the exact head (reference/dense/exact_head.hpp): sum of max(z, 0) - y z; gradient: [z > 0] - y.
double exact_loss(const float* logits, const float* labels, std::int64_t samples, float* gradient);

}  // namespace shardmark::kernels
