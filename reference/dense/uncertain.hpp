// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "reference/dense/logit_loss.hpp"
#include "reference/dense/matrix.hpp"
#include "reference/rounding.hpp"

namespace shardmark::reference {

/// A number that fp32 operations compute in an order that is theirs, and the standard error of their roundings, which
/// count as independent (Higham and Mary 2019). Bounds for which all of them conspire, like those of Rounded, grow by
/// the absolute row sums of each weight, 25 times for a layer of 1024 by 1024, and say nothing behind a few layers.
/// With u = 2^-24, to first order:
///   a + b, a b     what a and b bring, as squares, and u |result|
///   sum of n       what the factors bring, and u sqrt(n) sqrt(S^2 + Q), where S is the sum and Q that of the squared
///                  terms: no less than the root mean square of the partial sums in a random order. Nothing where fp32
///                  gives the sum exactly in any order (BoundedSum::exact).
///   relu           where z may be on either side of 0, the whole gradient is uncertain
///   under 2^-126   `flushed`: fp32 may have 0 instead, or a rounded subnormal number, as the e^z of a far logit
/// bound() is `confidence` of them. Errors of one origin, a ReLU that changed sign above all, reach many values; they
/// count as independent there too, which holds for initial weights rather than for trained ones.
struct Uncertain {
  static constexpr double confidence = 8.0;
  static constexpr double flushed = 0x1p-126;

  double value = 0.0;
  double error = 0.0;

  constexpr Uncertain() = default;
  constexpr Uncertain(double exact) : value(exact) {}  // NOLINT: formulas mix numbers and constants
  constexpr Uncertain(double value_, double error_) : value(value_), error(error_) {}

  double bound() const { return confidence * error; }

  /// fp32 rounds the value; a sum or product that fp32 has keeps it.
  static Uncertain result(double value, double brought) {
    const double rounding =
        brought == 0.0 ? static_cast<double>(static_cast<float>(value)) - value : unit_roundoff * value;
    const bool may_be_flushed = std::abs(value) < flushed && (value != 0.0 || brought != 0.0);
    return {value, std::hypot(brought, rounding, may_be_flushed ? flushed : 0.0)};
  }

  friend Uncertain operator+(const Uncertain& a, const Uncertain& b) {
    return result(a.value + b.value, std::hypot(a.error, b.error));
  }
  friend Uncertain operator-(const Uncertain& a, const Uncertain& b) { return a + Uncertain(-b.value, b.error); }
  friend Uncertain operator*(const Uncertain& a, const Uncertain& b) {
    return result(a.value * b.value, std::hypot(a.value * b.error, b.value * a.error));
  }
};

inline Uncertain sum_of_products(std::span<const Uncertain> a, std::span<const Uncertain> b) {
  BoundedSum sum;
  double squares = 0.0, brought = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double term = a[i].value * b[i].value, of_a = a[i].error * b[i].value, of_b = a[i].value * b[i].error;
    sum.add(term);
    squares += term * term;
    brought += of_a * of_a + of_b * of_b;
  }
  const bool exact = brought == 0.0 && sum.exact();
  const double n = static_cast<double>(a.size());
  const double rounding = exact ? 0.0 : unit_roundoff * std::sqrt(n * (sum.value * sum.value + squares));
  return {sum.value, std::hypot(std::sqrt(brought), rounding, exact ? 0.0 : std::sqrt(n) * Uncertain::flushed)};
}

/// 0 without a doubt where z is below it by more than its bound.
inline Uncertain relu(const Uncertain& z) {
  if (z.value > 0.0) return z;
  return {0.0, -z.value < z.bound() ? z.error : 0.0};
}

inline Uncertain relu_backward(const Uncertain& y, const Uncertain& g) {
  if (y.error == 0.0 || y.value > y.bound()) return y.value > 0.0 ? g : Uncertain();
  return {y.value > 0.0 ? g.value : 0.0, std::hypot(g.error, g.value)};
}

/// [z > 0], uncertain where z may be on either side of 0.
inline Uncertain step(const Uncertain& z) {
  return {z.value > 0.0 ? 1.0 : 0.0, z.error > 0.0 && std::abs(z.value) <= z.bound() ? 1.0 : 0.0};
}

/// An exponential, a logarithm, a quotient: 4 u of each term.
inline Uncertain logit_loss(const Uncertain& z, float label) {
  const double roundings = 4.0 * unit_roundoff * (std::abs(z.value) + std::log(2.0));
  return {logit_loss(z.value, label),
          std::hypot(logit_gradient(z.value, label) * z.error, roundings, Uncertain::flushed)};
}

inline Uncertain logit_gradient(const Uncertain& z, float label) {
  const double s = sigmoid(z.value), roundings = 4.0 * unit_roundoff * s;
  return {s - label, std::hypot(s * sigmoid(-z.value) * z.error, roundings, Uncertain::flushed)};
}

}  // namespace shardmark::reference
