// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "reference/dense/matrix.hpp"

namespace shardmark::reference {

/// Means over `stride` neighbouring values of n, n / stride of them, rounded up: Keras' AveragePooling1D with padding
/// "same", by which the synthetic models of distributed-embeddings stand in for an interaction. What is missing at the
/// ends, m = stride means - n values, is missing half at the beginning (m / 2, rounded down) and half at the end, and
/// is not counted. Window w holds the values
///   first(w) = max(w stride - m / 2, 0) .. last(w) = min((w + 1) stride - m / 2, n), without the last.
class Windows {
 public:
  Windows(std::int64_t values, std::int64_t stride)
      : values_(values), stride_(stride), count_((values + stride - 1) / stride) {}

  std::int64_t count() const { return count_; }
  std::int64_t first(std::int64_t window) const { return std::max<std::int64_t>(window * stride_ - before(), 0); }
  std::int64_t last(std::int64_t window) const { return std::min((window + 1) * stride_ - before(), values_); }
  double weight(std::int64_t window) const { return 1.0 / static_cast<double>(last(window) - first(window)); }

 private:
  std::int64_t before() const { return (count_ * stride_ - values_) / 2; }

  std::int64_t values_, stride_, count_;
};

/// x [samples, n], result [samples, means].
template <class Number>
Matrix<Number> average_neighbours(const Matrix<Number>& x, std::int64_t stride) {
  const Windows windows(x.columns, stride);
  Matrix<Number> result(x.rows, windows.count());
  for (std::int64_t s = 0; s < x.rows; ++s)
    for (std::int64_t w = 0; w < windows.count(); ++w) {
      const auto window = x.row(s).subspan(windows.first(w), windows.last(w) - windows.first(w));
      const std::vector<Number> weights(window.size(), static_cast<Number>(windows.weight(w)));
      result.at(s, w) = sum_of_products(window, std::span<const Number>(weights));
    }
  return result;
}

/// Each of the n values gets the gradient of its mean over the number of values in it.
template <class Number>
Matrix<Number> average_neighbours_backward(const Matrix<Number>& gradient, std::int64_t values, std::int64_t stride) {
  const Windows windows(values, stride);
  Matrix<Number> result(gradient.rows, values);
  for (std::int64_t s = 0; s < gradient.rows; ++s)
    for (std::int64_t w = 0; w < windows.count(); ++w)
      for (std::int64_t i = windows.first(w); i < windows.last(w); ++i)
        result.at(s, i) = gradient.at(s, w) * static_cast<Number>(windows.weight(w));
  return result;
}

}  // namespace shardmark::reference
