// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/dense/linear.hpp"

namespace shardmark::reference {

/// Layers of an MLP: weight [outputs, inputs] and bias [outputs, 1] of each in turn. None: its output is its input.
template <class Number>
using Layers = std::span<const Matrix<Number>>;

/// What is behind the last layer; a ReLU is behind all others.
enum class MlpEnd { relu, linear };

/// a_0 = x, a_(l+1) = relu(a_l W_l^T + b_l): all of them, the last being the output.
template <class Number>
std::vector<Matrix<Number>> mlp(Layers<Number> layers, Matrix<Number> x, MlpEnd end) {
  std::vector<Matrix<Number>> activations{std::move(x)};
  for (std::size_t l = 0; l < layers.size(); l += 2) {
    Matrix<Number> y = linear(activations.back(), layers[l], layers[l + 1]);
    if (end == MlpEnd::relu || l + 2 < layers.size())
      for (Number& z : y.values) z = relu(z);
    activations.push_back(std::move(y));
  }
  return activations;
}

/// The gradient of x by that of the output; writes those of the weights and biases to layer_gradients, in their order.
/// activations: what mlp() returned.
template <class Number>
Matrix<Number> mlp_backward(Layers<Number> layers, const std::vector<Matrix<Number>>& activations, MlpEnd end,
                            Matrix<Number> gradient, std::span<Matrix<Number>> layer_gradients) {
  for (std::size_t l = layers.size() / 2; l-- > 0;) {
    if (end == MlpEnd::relu || 2 * l + 2 < layers.size())
      gradient =
          combined(activations[l + 1], gradient, [](const Number& y, const Number& g) { return relu_backward(y, g); });
    LinearGradients<Number> of = linear_backward(activations[l], layers[2 * l], gradient);
    layer_gradients[2 * l] = std::move(of.weight);
    layer_gradients[2 * l + 1] = std::move(of.bias);
    gradient = std::move(of.x);
  }
  return gradient;
}

}  // namespace shardmark::reference
