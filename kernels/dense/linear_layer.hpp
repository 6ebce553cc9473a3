// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "kernels/dense/matrix_view.hpp"
#include "reference/dense/dense_math.hpp"

namespace shardmark::kernels {

// These are the linear layers of reference/dense/layers.hpp in fp32. On a host samples go to the threads in even parts;
// operations on the elements of a part follow its product, while it is in the caches. math: of the products.

/// Computes y = x W^T + b, with a ReLU behind it where `relu`: x [samples, inputs], weight [outputs, inputs], bias
/// [outputs], y [samples, outputs].
void linear(ConstFloats x, ConstFloats weight, const float* bias, bool relu, Floats y,
            DenseMath math = DenseMath::fp32);

/// Holds sums of parts of the samples: on a host one of `columns` numbers for each thread.
struct PartialSums {
  Scratch<DenseExecution, float> scratch{"shardmark::bias_gradients"};

  Floats zeroed(std::int64_t columns);
  /// Sets to[c] to the sum over the threads.
  static void add_up(Floats sums, float* to);
};

/// Computes the backward pass from the gradient dy of y, which becomes that of x W^T + b (0 where y is, behind a ReLU;
/// y.data null: there is none):
///   dx = dy W (unless dx.data is null),  dW = dy^T x,  db = sum of dy over the samples
void linear_backward(ConstFloats x, ConstFloats weight, ConstFloats y, Floats dy, Floats dx, Floats weight_gradient,
                     float* bias_gradient, PartialSums& sums, DenseMath math = DenseMath::fp32);

}  // namespace shardmark::kernels
