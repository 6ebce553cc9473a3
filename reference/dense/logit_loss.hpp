// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <concepts>

namespace shardmark::reference {

/// 1 / (1 + e^-z), which overflows for neither sign.
template <std::floating_point Number>
Number sigmoid(Number z) {
  const Number small = std::exp(-std::abs(z));
  return (z < 0 ? small : 1) / (1 + small);
}

/// Binary cross entropy of a logit z and a label y in [0, 1], in nats, with s = sigmoid(z):
///   -y log s - (1 - y) log(1 - s) = max(z, 0) - y z + log(1 + e^-|z|)
/// of which the second form (PyTorch's binary_cross_entropy_with_logits) never takes the logarithm of 0.
template <std::floating_point Number>
Number logit_loss(Number z, float label) {
  return (z > 0 ? z : 0) - label * z + std::log1p(std::exp(-std::abs(z)));
}

/// Its derivative by z: s - y.
template <std::floating_point Number>
Number logit_gradient(Number z, float label) {
  return sigmoid(z) - label;
}

}  // namespace shardmark::reference
