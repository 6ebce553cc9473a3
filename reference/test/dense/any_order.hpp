// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>

#include "reference/dense/layers.hpp"
#include "reference/dense/loss.hpp"

namespace shardmark::reference {

/// A float whose sums run in another order than that of float: four lanes from the end, as a vectorised loop may have
/// them, with fused products.
struct AnyOrder {
  float value = 0.0F;

  AnyOrder() = default;
  AnyOrder(double x) : value(static_cast<float>(x)) {}  // NOLINT: as the other numbers
  explicit operator double() const { return value; }

  friend AnyOrder operator+(const AnyOrder& a, const AnyOrder& b) { return {double{a.value + b.value}}; }
  friend AnyOrder operator*(const AnyOrder& a, const AnyOrder& b) { return {double{a.value * b.value}}; }
};

inline AnyOrder sum_of_products(std::span<const AnyOrder> a, std::span<const AnyOrder> b) {
  std::array<float, 4> lanes{};
  for (std::size_t i = a.size(); i-- > 0;) lanes[i % 4] = std::fma(a[i].value, b[i].value, lanes[i % 4]);
  return {double{(lanes[0] + lanes[2]) + (lanes[1] + lanes[3])}};
}
inline AnyOrder as_tf32(const AnyOrder& x) { return {double{as_tf32(x.value)}}; }
inline AnyOrder made_in_tf32(const AnyOrder& y, std::int64_t) { return y; }
inline AnyOrder relu(const AnyOrder& z) { return {double{relu(z.value)}}; }
inline AnyOrder relu_backward(const AnyOrder& y, const AnyOrder& g) {
  return {double{relu_backward(y.value, g.value)}};
}
inline AnyOrder logit_loss(const AnyOrder& z, float label) { return {double{logit_loss(z.value, label)}}; }
inline AnyOrder logit_gradient(const AnyOrder& z, float label) { return {double{logit_gradient(z.value, label)}}; }

}  // namespace shardmark::reference
