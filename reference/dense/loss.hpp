// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>

namespace shardmark::reference {

/// Returns 1 / (1 + e^-z), which overflows for neither sign.
template <std::floating_point Number>
constexpr Number sigmoid(Number z) {
  const Number small = std::exp(-std::abs(z));
  return (z < 0 ? small : 1) / (1 + small);
}

/// Returns the binary cross entropy of a logit z and a label y in [0, 1], in nats, with s = sigmoid(z):
///   -y log s - (1 - y) log(1 - s) = max(z, 0) - y z + log(1 + e^-|z|)
/// of which the second form (PyTorch's binary_cross_entropy_with_logits) never takes the logarithm of 0.
template <std::floating_point Number>
constexpr Number logit_loss(Number z, float label) {
  return (z > 0 ? z : 0) - label * z + std::log1p(std::exp(-std::abs(z)));
}

/// Returns its derivative by z: s - y.
template <std::floating_point Number>
constexpr Number logit_gradient(Number z, float label) {
  return sigmoid(z) - label;
}

/// Returns the exact area under the receiver operating characteristic: the share of pairs of a positive and a negative
/// sample in which the positive one has the higher score, a tie counting half. It is computed by ranks (Mann and
/// Whitney 1947), from 1, where equal scores share the mean of theirs, P positives and N negatives:
///   (sum of the ranks of positives - P (P + 1) / 2) / (P N)
/// scores [n], logits or probabilities; labels [n], 0 or 1. Returns nothing when one class is missing. Throws
/// InputError naming the sample when a score is no number or a label neither 0 nor 1, and when there are not as many of
/// both.
std::optional<double> area_under_curve(std::span<const float> scores, std::span<const float> labels);

}  // namespace shardmark::reference
