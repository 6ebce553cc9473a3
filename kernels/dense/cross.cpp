// SPDX-License-Identifier: Apache-2.0
#include "kernels/dense/cross.hpp"

#include "kernels/dense/device_layers.hpp"
#include "kernels/dense/gemm.hpp"

namespace shardmark::kernels {
namespace {

constexpr std::int64_t samples_at_once = 16;

void cross_row(const float* __restrict__ x0, const float* __restrict__ x, const float* __restrict__ bias,
               std::int64_t n, float* __restrict__ t, float* __restrict__ next) {
  for (std::int64_t c = 0; c < n; ++c) {
    t[c] += bias[c];
    next[c] = x0[c] * t[c] + x[c];
  }
}

void cross_row_backward(const float* __restrict__ x0, const float* __restrict__ t, const float* __restrict__ gradient,
                        std::int64_t n, float* __restrict__ of_x0, float* __restrict__ dt, float* __restrict__ sum) {
  for (std::int64_t c = 0; c < n; ++c) {
    of_x0[c] += gradient[c] * t[c];
    dt[c] = gradient[c] * x0[c];
    sum[c] += dt[c];
  }
}

}  // namespace

void cross_layer(ConstFloats x0, ConstFloats x, const CrossWeights& weights, Floats v, Floats t, Floats next,
                 DenseMath math) {
  in_parts(x.rows, samples_at_once, [&](std::int64_t begin, std::int64_t end) {
    product_transposed(x.row_range(begin, end), weights.v, v.row_range(begin, end), math);
    product_transposed(v.row_range(begin, end), weights.w, t.row_range(begin, end), math);
    if constexpr (on_device<DenseExecution>)
      device::for_elements("shardmark::cross", x.rows, x.columns, device::CrossRows{x0, x, weights.bias, t, next});
    else
      for (std::int64_t s = begin; s < end; ++s)
        cross_row(x0.row(s), x.row(s), weights.bias, x.columns, t.row(s), next.row(s));
  });
}

void cross_layer_backward(ConstFloats x0, ConstFloats x, const CrossWeights& weights, ConstFloats v, ConstFloats t,
                          Floats gradient, Floats of_x0, Floats dt, Floats dv, const CrossGradients& gradients,
                          PartialSums& sums, DenseMath math) {
  if constexpr (on_device<DenseExecution>) {
    device::sum_columns("shardmark::cross_gradient", device::CrossGradient{x0, t, gradient, of_x0, dt}, x.rows,
                        x.columns, sums.scratch, gradients.bias);
    product(dt, weights.w, dv, false, math);
    product(dv, weights.v, gradient, true, math);
  } else {
    const Floats by_thread = sums.zeroed(x.columns);
    for_each_part(x.rows, samples_at_once, [&](std::int64_t begin, std::int64_t end, std::int64_t thread) {
      for (std::int64_t s = begin; s < end; ++s)
        cross_row_backward(x0.row(s), t.row(s), gradient.row(s), x.columns, of_x0.row(s), dt.row(s),
                           by_thread.row(thread));
      product(dt.row_range(begin, end), weights.w, dv.row_range(begin, end), false, math);
      product(dv.row_range(begin, end), weights.v, gradient.row_range(begin, end), true, math);
    });
    PartialSums::add_up(by_thread, gradients.bias);
  }
  product_of_transposed(dt, v, gradients.w, math);
  product_of_transposed(dv, x, gradients.v, math);
}

void add_to(ConstFloats more, Floats to) {
  if constexpr (on_device<DenseExecution>)
    return device::for_elements("shardmark::add_to", to.rows, to.columns, device::AddMatrix{more, to});
  for_each_part(to.rows, samples_at_once, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    for (std::int64_t s = begin; s < end; ++s)
      for (std::int64_t c = 0; c < to.columns; ++c) to.row(s)[c] += more.row(s)[c];
  });
}

}  // namespace shardmark::kernels
