// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/dense/linear.hpp"

namespace shardmark::reference {

/// What the low-rank cross layers (DCN V2: Wang et al. 2021; LowRankCrossNet of TorchRec, which MLPerf runs) compute of
/// x_0 [samples, n]. * is the product element by element:
///   v_l = x_l V_l^T,  t_l = v_l W_l^T + b_l,  x_(l+1) = x_0 * t_l + x_l
/// with V_l [rank, n], W_l [n, rank], b_l [n, 1], in this order for each layer in turn.
template <class Number>
struct Crossed {
  std::vector<Matrix<Number>> x;     ///< [layers + 1], x.back() is the output
  std::vector<Matrix<Number>> v, t;  ///< [layers]
};

template <class Number>
Crossed<Number> cross(std::span<const Matrix<Number>> layers, Matrix<Number> x0) {
  Crossed<Number> kept;
  kept.x.push_back(std::move(x0));
  for (std::size_t l = 0; l < layers.size(); l += 3) {
    kept.v.push_back(product_transposed(kept.x.back(), layers[l]));
    kept.t.push_back(linear(kept.v.back(), layers[l + 1], layers[l + 2]));
    kept.x.push_back(times(kept.x.front(), kept.t.back()) + kept.x.back());
  }
  return kept;
}

/// The gradient of x_0 by that of the output, g; writes those of V, W and b to layer_gradients, in their order:
///   dt = g * x_0,  dW = dt^T v,  db = sum of dt over the samples,  dv = dt W,  dV = dv^T x_l,
///   dx_l = g + dv V,  and x_0 gets g * t of every layer besides.
template <class Number>
Matrix<Number> cross_backward(std::span<const Matrix<Number>> layers, const Crossed<Number>& kept,
                              Matrix<Number> gradient, std::span<Matrix<Number>> layer_gradients) {
  const Matrix<Number>& x0 = kept.x.front();
  Matrix<Number> of_x0(x0.rows, x0.columns);
  for (std::size_t l = kept.t.size(); l-- > 0;) {
    of_x0 = of_x0 + times(gradient, kept.t[l]);
    LinearGradients<Number> outer = linear_backward(kept.v[l], layers[3 * l + 1], times(gradient, x0));
    layer_gradients[3 * l] = product(transposed(outer.x), kept.x[l]);
    layer_gradients[3 * l + 1] = std::move(outer.weight);
    layer_gradients[3 * l + 2] = std::move(outer.bias);
    gradient = gradient + product(outer.x, layers[3 * l]);
  }
  return of_x0 + gradient;
}

}  // namespace shardmark::reference
