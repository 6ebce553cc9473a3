// SPDX-License-Identifier: Apache-2.0
#include "kernels/dense/linear_layer.hpp"

#include "kernels/dense/device_layers.hpp"
#include "kernels/dense/gemm.hpp"

namespace shardmark::kernels {
namespace {

constexpr std::int64_t samples_together = 16;

void add_bias(Floats y, const float* bias, bool relu) {
  if constexpr (on_device<DenseExecution>)
    return device::for_elements("shardmark::add_bias", y.rows, y.columns, device::AddBias{y, bias, relu});
  for (std::int64_t s = 0; s < y.rows; ++s) {
    float* __restrict__ row = y.row(s);
    if (relu)
      for (std::int64_t c = 0; c < y.columns; ++c) row[c] = std::max(row[c] + bias[c], 0.0F);
    else
      for (std::int64_t c = 0; c < y.columns; ++c) row[c] += bias[c];
  }
}

/// Sets dy to [y > 0] dy where there is a y, and sums it over the samples.
void mask_and_sum(ConstFloats y, Floats dy, float* __restrict__ sum) {
  for (std::int64_t s = 0; s < dy.rows; ++s) {
    float* __restrict__ gradient = dy.row(s);
    if (y.data != nullptr) {
      const float* __restrict__ output = y.row(s);
      for (std::int64_t c = 0; c < dy.columns; ++c) gradient[c] = output[c] > 0.0F ? gradient[c] : 0.0F;
    }
    for (std::int64_t c = 0; c < dy.columns; ++c) sum[c] += gradient[c];
  }
}

}  // namespace

void linear(ConstFloats x, ConstFloats weight, const float* bias, bool relu, Floats y, DenseMath math) {
  in_parts(x.rows, samples_together, [&](std::int64_t begin, std::int64_t end) {
    const Floats part = y.row_range(begin, end);
    product_transposed(x.row_range(begin, end), weight, part, math);
    add_bias(part, bias, relu);
  });
}

Floats PartialSums::zeroed(std::int64_t columns) {
  const std::int64_t threads = HostThreads().concurrency();
  const auto sums = scratch.first(threads * columns);
  std::fill_n(sums.data(), sums.extent(0), 0.0F);
  return {sums.data(), threads, columns};
}

void PartialSums::add_up(Floats sums, float* to) {
  std::copy_n(sums.data, sums.columns, to);
  for (std::int64_t thread = 1; thread < sums.rows; ++thread)
    for (std::int64_t c = 0; c < sums.columns; ++c) to[c] += sums.row(thread)[c];
}

void linear_backward(ConstFloats x, ConstFloats weight, ConstFloats y, Floats dy, Floats dx, Floats weight_gradient,
                     float* bias_gradient, PartialSums& sums, DenseMath math) {
  if constexpr (on_device<DenseExecution>) {
    device::sum_columns("shardmark::mask_and_sum", device::MaskedGradient{y, dy}, dy.rows, dy.columns, sums.scratch,
                        bias_gradient);
    if (dx.data != nullptr) product(dy, weight, dx, false, math);
  } else {
    const Floats by_thread = sums.zeroed(dy.columns);
    for_each_part(dy.rows, samples_together, [&](std::int64_t begin, std::int64_t end, std::int64_t thread) {
      const Floats part = dy.row_range(begin, end);
      mask_and_sum(y.data != nullptr ? y.row_range(begin, end) : ConstFloats{}, part, by_thread.row(thread));
      if (dx.data != nullptr) product(part, weight, dx.row_range(begin, end), false, math);
    });
    PartialSums::add_up(by_thread, bias_gradient);
  }
  product_of_transposed(dy, x, weight_gradient, math);
}

}  // namespace shardmark::kernels
