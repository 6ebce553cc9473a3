// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "reference/dense/loss.hpp"
#include "reference/dense/matrix.hpp"
#include "reference/rounding.hpp"

namespace shardmark::reference {

/// Holds a number that fp32 operations compute in an order of their own, and the standard error of their roundings,
/// which count as independent (Higham and Mary 2019). Bounds for which all of them conspire, like those of Rounded,
/// grow by the absolute row sums of each weight, 25 times for a layer of 1024 by 1024, and say nothing behind a few
/// layers. With u = 2^-24:
///   a + b          what a and b bring, as squares, and u |result|
///   a b            a^2 e_b^2 + b^2 e_a^2 + e_a^2 e_b^2, the variance of a product, and u |result|: a weight may have
///                  an error larger than itself, where an optimizer steps by a gradient of nothing but rounding
///   f(z)           the larger of |f'| e and of what f changes by within the bound of z, over `confidence`
///   sum of n       what the products bring, and u sqrt(n) sqrt(S^2 + Q), where S is the sum and Q that of the squared
///                  terms: no less than the root mean square of the partial sums in a random order. Nothing where fp32
///                  gives the sum exactly in any order (BoundedSum::exact).
///   relu           where z may be on either side of 0, the whole gradient is uncertain
///   under 2^-126   `flushed`: fp32 may have 0 instead, or a rounded subnormal number, as the e^z of a far logit
///   above 2^126    no bound: fp32 may have no number, as in a training that diverges
///   |z| above 2^24 no bound of a logit's gradient: fp32 has no fraction there, and a training that got so far
///                  diverges. Its weights are products of ever more of those before, whose errors, all of one
///                  origin, add up
///   TF32           of products, whose operands lose up to u_t = 2^-10 of themselves, all to the same side: 2 u_t |x|
///                  of each operand and u_t |result| of each product. This is four times what a product by itself
///                  needs (u_t |x| / 2, as losses differ in size, and u_t |result| / 4, of which `confidence` is the
///                  whole 2 u_t of two operands), because a model has several of them, whose losses add up: results of
///                  small models whose operands are cut lie within 5 of these errors. What is lost to one side is
///                  alike in all samples; so is what a weight or a row loses, which comes with it (as_shared_operand).
/// bound() is `confidence` of them. Within a sample, errors of one origin, a ReLU that changed sign above all, reach
/// many values; they count as independent there too, which holds for initial weights rather than for trained ones.
/// Only the derivative of the loss, of which all gradients of the sample are multiples, brings them one common relative
/// error (take_factors): counted in each of the products and sums of a backward pass, it would be up to 10 times too
/// small behind three cross layers.
///
/// Samples share errors: that of a row all its samples, that of a weight the whole batch. A sum over samples of J_s
/// e_s, of which n samples each have one e, has the variance (sum of J_s)^2 e^2 for these, at most n times the sum of
/// their J_s^2 e^2 (Cauchy and Schwarz). So `in_sums` is the same standard error with sqrt(n) times what n samples
/// share: the squares of it add up to those of a sum over samples.
struct Uncertain {
  static constexpr double confidence = 8.0;
  static constexpr double of_tf32_operand = 0x1p-9, of_tf32_result = 0x1p-10;  ///< of their values
  static constexpr double flushed = 0x1p-126, largest = 0x1p126, largest_logit = 0x1p24;

  double value = 0.0;
  double error = 0.0;
  double in_sums = 0.0;

  constexpr Uncertain() = default;
  constexpr Uncertain(double exact) : value(exact) {}  // NOLINT: formulas mix numbers and constants
  constexpr Uncertain(double value_, double error_) : Uncertain(value_, error_, error_) {}
  constexpr Uncertain(double value_, double error_, double in_sums_)
      : value(value_), error(error_), in_sums(in_sums_) {}

  double bound() const { return confidence * error; }

  /// Returns the same number, or one without a bound where it may be larger than `largest`. magnitude: of what it is
  /// made of.
  Uncertain in_fp32(double magnitude) const {
    if (magnitude + bound() < largest) return *this;
    return {value, INFINITY, INFINITY};
  }

  /// Returns the value with its errors: fp32 rounds it, but keeps a sum or product that it represents exactly.
  static Uncertain result(double value, double brought, double brought_in_sums) {
    const double rounding =
        brought == 0.0 ? static_cast<double>(static_cast<float>(value)) - value : unit_roundoff * value;
    const bool may_be_flushed = std::abs(value) < flushed && (value != 0.0 || brought != 0.0);
    const double own = std::hypot(rounding, may_be_flushed ? flushed : 0.0);
    return Uncertain(value, std::hypot(brought, own), std::hypot(brought_in_sums, own)).in_fp32(std::abs(value));
  }

  /// Returns the squared error of a product, or that in sums. Samples that share e_a e_b share both: no more than share
  /// e_a.
  static double square_of_product(const Uncertain& a, const Uncertain& b, double Uncertain::*in) {
    return a.value * a.value * (b.*in) * (b.*in) + (a.*in) * (a.*in) * (b.value * b.value + b.error * b.error);
  }

  friend Uncertain operator+(const Uncertain& a, const Uncertain& b) {
    return result(a.value + b.value, std::hypot(a.error, b.error), std::hypot(a.in_sums, b.in_sums));
  }
  friend Uncertain operator-(const Uncertain& a, const Uncertain& b) {
    return a + Uncertain(-b.value, b.error, b.in_sums);
  }
  friend Uncertain operator*(const Uncertain& a, const Uncertain& b) {
    return result(a.value * b.value, std::sqrt(square_of_product(a, b, &Uncertain::error)),
                  std::sqrt(square_of_product(a, b, &Uncertain::in_sums)));
  }
};

/// Returns the number as a product in TF32 reads it, of one sample; and one that so many samples share.
inline Uncertain as_tf32(const Uncertain& x) {
  const double lost = Uncertain::of_tf32_operand * x.value;
  return {x.value, std::hypot(x.error, lost), std::hypot(x.in_sums, lost)};
}
inline Uncertain as_shared_operand(const Uncertain& x, double samples) {
  const double lost = Uncertain::of_tf32_operand * x.value;
  return {x.value, std::hypot(x.error, lost), std::hypot(x.in_sums, std::sqrt(samples) * lost)};
}
inline Uncertain made_in_tf32(const Uncertain& y, std::int64_t alike) {
  const double lost = Uncertain::of_tf32_result * y.value;
  return {y.value, std::hypot(y.error, lost), std::hypot(y.in_sums, std::sqrt(static_cast<double>(alike)) * lost)};
}

inline Uncertain sum_of_products(std::span<const Uncertain> a, std::span<const Uncertain> b) {
  BoundedSum sum;
  double squares = 0.0, brought = 0.0, brought_in_sums = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double term = a[i].value * b[i].value;
    sum.add(term);
    squares += term * term;
    brought += Uncertain::square_of_product(a[i], b[i], &Uncertain::error);
    brought_in_sums += Uncertain::square_of_product(a[i], b[i], &Uncertain::in_sums);
  }
  const bool exact = brought == 0.0 && sum.exact();
  const double n = static_cast<double>(a.size());
  const double rounding = exact ? 0.0 : unit_roundoff * std::sqrt(n * (sum.value * sum.value + squares));
  const double own = std::hypot(rounding, exact ? 0.0 : std::sqrt(n) * Uncertain::flushed);
  return Uncertain(sum.value, std::hypot(std::sqrt(brought), own), std::hypot(std::sqrt(brought_in_sums), own))
      .in_fp32(std::sqrt(n * (sum.value * sum.value + squares)));
}

/// Returns 0 without a doubt where z is below it by more than its bound.
inline Uncertain relu(const Uncertain& z) {
  if (z.value > 0.0) return z;
  return -z.value >= z.bound() ? Uncertain() : Uncertain(0.0, z.error, z.in_sums);
}

/// Returns how much larger the error of x is in sums.
inline double share_in_sums(const Uncertain& x) { return x.error > 0.0 ? x.in_sums / x.error : 1.0; }

/// Returns g where y > 0; samples that share the error of y change sign together.
inline Uncertain relu_backward(const Uncertain& y, const Uncertain& g) {
  if (y.error == 0.0 || y.value > y.bound()) return y.value > 0.0 ? g : Uncertain();
  return {y.value > 0.0 ? g.value : 0.0, std::hypot(g.error, g.value),
          std::hypot(g.in_sums, g.value * share_in_sums(y))};
}

/// Returns [z > 0], uncertain where z may be on either side of 0.
inline Uncertain step(const Uncertain& z) {
  const double error = z.error == 0.0 || std::abs(z.value) > z.bound() ? 0.0 : 1.0;
  return {z.value > 0.0 ? 1.0 : 0.0, error, error * share_in_sums(z)};
}

/// Returns the error of f(z), whose slope at z is given.
template <class Function>
double error_of(const Function& f, const Uncertain& z, double slope) {
  const double here = f(z.value), up = f(z.value + z.bound()), down = f(z.value - z.bound());
  return std::max(std::abs(slope) * z.error,
                  std::max(std::abs(up - here), std::abs(down - here)) / Uncertain::confidence);
}

/// Computes the loss with the errors of an exponential, a logarithm, a quotient: 4 u of each term.
inline Uncertain logit_loss(const Uncertain& z, float label) {
  const double roundings = 4.0 * unit_roundoff * (std::abs(z.value) + std::log(2.0));
  const double own = std::hypot(roundings, Uncertain::flushed);
  const double brought = error_of([&](double x) { return logit_loss(x, label); }, z, logit_gradient(z.value, label));
  return {logit_loss(z.value, label), std::hypot(brought, own), std::hypot(brought * share_in_sums(z), own)};
}

inline Uncertain logit_gradient(const Uncertain& z, float label) {
  const double s = sigmoid(z.value), brought = error_of(sigmoid<double>, z, s * sigmoid(-z.value));
  if (!(std::abs(z.value) + z.bound() < Uncertain::largest_logit)) return {s - label, INFINITY};
  const double own = std::hypot(4.0 * unit_roundoff * s, Uncertain::flushed);
  return {s - label, std::hypot(brought, own), std::hypot(brought * share_in_sums(z), own)};
}

/// Takes the error out of the derivatives of the losses, but for one rounding, as a factor 1 with the relative error.
/// One that is far larger than the derivative stays in it.
std::vector<Uncertain> take_factors(Matrix<Uncertain>& of_logits);

/// Returns the gradients with the errors of their factors.
Matrix<Uncertain> with_factors(const Matrix<Uncertain>& gradient, const std::vector<Uncertain>& factors);

/// Computes a b^T with the errors of sum_of_products(Uncertain). Templates over the type of their numbers find this
/// overload, which computes the same sums of values, squares and errors of the operands for many elements at a time,
/// since a batch has many. Sums of a few terms, and products of few columns, go one by one; of the others none counts
/// as exact but those whose terms are all 0.
Matrix<Uncertain> product_transposed(const Matrix<Uncertain>& a, const Matrix<Uncertain>& b);

}  // namespace shardmark::reference
