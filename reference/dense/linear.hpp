// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include "reference/dense/matrix.hpp"

namespace shardmark::reference {

/// y = x W^T + b: x [samples, inputs], W [outputs, inputs], b [outputs, 1], y [samples, outputs].
template <class Number>
Matrix<Number> linear(const Matrix<Number>& x, const Matrix<Number>& weight, const Matrix<Number>& bias) {
  return plus_row(product_transposed(x, weight), bias);
}

template <class Number>
struct LinearGradients {
  Matrix<Number> x, weight, bias;
};

/// By the gradient dy of y:  dx = dy W,  dW = dy^T x,  db = sum of dy over the samples.
template <class Number>
LinearGradients<Number> linear_backward(const Matrix<Number>& x, const Matrix<Number>& weight,
                                        const Matrix<Number>& gradient) {
  return {product(gradient, weight), product(transposed(gradient), x), sum_of_rows(gradient)};
}

/// max(z, 0)
template <std::floating_point Number>
Number relu(Number z) {
  return z > 0 ? z : 0;
}

/// The gradient of z, where g is that of y = relu(z): g where y > 0, else 0, also where z = 0 (as PyTorch has it).
template <std::floating_point Number>
Number relu_backward(Number y, Number g) {
  return y > 0 ? g : 0;
}

}  // namespace shardmark::reference
