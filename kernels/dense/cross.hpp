// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/dense/linear_layer.hpp"

namespace shardmark::kernels {

// These functions compute a low-rank cross layer, reference/dense/layers.hpp in fp32. x_0, x, t: [samples, n]; v:
// [samples, rank]. math: of the products.

struct CrossWeights {
  ConstFloats v;      ///< [rank, n]
  ConstFloats w;      ///< [n, rank]
  const float* bias;  ///< [n]
};
struct CrossGradients {
  Floats v, w;
  float* bias;
};

/// Computes v = x V^T, t = v W^T + b, next = x_0 * t + x.
void cross_layer(ConstFloats x0, ConstFloats x, const CrossWeights& weights, Floats v, Floats t, Floats next,
                 DenseMath math = DenseMath::fp32);

/// Computes the backward pass. gradient: that of `next`; it becomes that of x, without the gradient of x_0, which is
/// added to of_x0. dt [samples, n] and dv [samples, rank] are overwritten.
void cross_layer_backward(ConstFloats x0, ConstFloats x, const CrossWeights& weights, ConstFloats v, ConstFloats t,
                          Floats gradient, Floats of_x0, Floats dt, Floats dv, const CrossGradients& gradients,
                          PartialSums& sums, DenseMath math = DenseMath::fp32);

/// Adds `more` to `to`, both of one shape.
void add_to(ConstFloats more, Floats to);

}  // namespace shardmark::kernels
