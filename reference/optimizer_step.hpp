// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "reference/optimizer.hpp"

namespace shardmark::reference {

/// Holds one column of a row: its value, its summed gradient and its numbers of state, in the order of
/// reference/optimizer.hpp (those that the whole row shares come last, the same in every column).
template <class Number>
struct Cell {
  Number w, g;
  std::array<Number, 2> state;
};

/// Holds sums over the columns of a row: g^2 for rowwise_adagrad and rowwise_adam, w^2 and r^2 for lamb.
template <class Number>
using RowSums = std::array<Number, 2>;

/// Evaluates the formulas of reference/optimizer.hpp for step t of rows of `dim` columns. Number is double, or a number
/// that keeps account of roundings. The corrections 1 - b^t are evaluated in double.
class OptimizerRule {
 public:
  OptimizerRule(const Optimizer& optimizer, std::int64_t t, std::int64_t dim)
      : o_(optimizer),
        dim_(static_cast<double>(dim)),
        correction1_(correction(optimizer.beta1, t)),
        correction2_(correction(optimizer.beta2, t)) {}

  /// Returns what a column, before the step, adds to the sums over its row.
  template <class Number>
  RowSums<Number> row_terms(Cell<Number> c) const {
    decay_by_gradient(c);
    if (o_.kind != OptimizerKind::lamb) return {c.g * c.g, Number(0.0)};
    moments(c);
    const Number r = lamb_direction(c);
    return {c.w * c.w, r * r};
  }

  /// Returns the column after the step.
  template <class Number>
  Cell<Number> stepped(Cell<Number> c, const RowSums<Number>& sums) const {
    const Number w = c.w;
    decay_by_gradient(c);
    step(c, sums);
    if (o_.kind != OptimizerKind::lamb && o_.kind != OptimizerKind::none && decoupled()) c.w = c.w - lr() * wd() * w;
    return c;
  }

  /// Returns gradients at which the step of a column or its state may turn, as functions of its own gradient g: between
  /// them the step and the state only rise or only fall. others: the sum of the squared gradients of the other columns.
  /// Some may be no numbers, or gradients at which nothing turns. Beside g = 0, the gradient of a square, and with s =
  /// sqrt(n + g^2) of ftrl:
  ///   (a + b g) / (sqrt(c + d g^2) + e)   turns where (a d g - b c)^2 = b^2 e^2 (c + d g^2)      adam's direction
  ///   the square of lamb's, k = wd w      turns where (a + b g + k e)^2 = k^2 (c + d g^2)
  ///   z + g - (s - s_0) w / lr            turns where g^2 ((w / lr)^2 - 1) = n                    ftrl's z
  ///   ftrl's w                            turns where (B g - n)^2 = K^2 (n + g^2),
  ///                                       B = w ((beta + s_0) / lr + l2) + z -+ l1,  K = beta + lr l2
  std::array<double, 7> turning_gradients(const Cell<double>& c, double others) const {
    std::array<double, 7> at;
    at.fill(std::numeric_limits<double>::quiet_NaN());
    at[0] = 0.0;
    if (takes_moments()) {
      const bool rowwise = o_.kind == OptimizerKind::rowwise_adam;
      const double b1 = o_.beta1, b2 = o_.beta2, d = (1.0 - b2) / (rowwise ? dim_ : 1.0);
      const double a = b1 * c.state[0], b = 1.0 - b1, rest = b2 * c.state[1] + (rowwise ? d * others : 0.0);
      const double e = eps() * std::sqrt(correction2_), square = b * b * e * e;
      put_roots(d * (a * a * d - square), -2.0 * a * b * rest * d, rest * (b * b * rest - square), &at[1]);
      const double k = decoupled() ? wd() * c.w * correction1_ / std::sqrt(correction2_) : 0.0, of_0 = a + k * e;
      put_roots(b * b - k * k * d, 2.0 * b * of_0, of_0 * of_0 - k * k * rest, &at[3]);
    } else if (o_.kind == OptimizerKind::ftrl) {
      const double n = c.state[0] + ftrl_epsilon, slope = c.w / lr(), beta = o_.beta, l2 = o_.l2;
      put_roots(slope * slope - 1.0, 0.0, -n, &at[1]);
      const double k = beta + lr() * l2, of_w = slope * (beta + std::sqrt(n)) + c.w * l2 + c.state[1];
      for (const double sign : {1.0, -1.0}) {
        const double b = of_w - sign * o_.l1;
        put_roots(b * b - k * k, -2.0 * n * b, n * (n - k * k), &at[sign > 0.0 ? 3 : 5]);
      }
    }
    if (o_.weight_decay != 0.0F && o_.weight_decay_mode == WeightDecay::l2)
      for (double& g : at) g -= wd() * c.w;
    return at;
  }

 private:
  static constexpr double ftrl_epsilon = 0x1p-23;

  /// Writes the roots of a x^2 + b x + c, or where it comes closest to 0.
  static void put_roots(double a, double b, double c, double* roots) {
    const double q = -0.5 * (b + std::copysign(std::sqrt(std::max(0.0, b * b - 4.0 * a * c)), b));
    roots[0] = q / a;
    roots[1] = c / q;
  }

  /// Returns 1 - beta^t; 1 for optimizers that take no moments, of which a check makes a rule for each row.
  double correction(double beta, std::int64_t t) const {
    return takes_moments() ? 1.0 - std::pow(beta, static_cast<double>(t)) : 1.0;
  }
  bool takes_moments() const {
    return o_.kind == OptimizerKind::adam || o_.kind == OptimizerKind::rowwise_adam || o_.kind == OptimizerKind::lamb;
  }
  bool decoupled() const { return o_.weight_decay != 0.0F && o_.weight_decay_mode == WeightDecay::decoupled; }
  double lr() const { return o_.learning_rate; }
  double wd() const { return o_.weight_decay; }
  double eps() const { return o_.epsilon; }

  template <class Number>
  void decay_by_gradient(Cell<Number>& c) const {
    if (o_.weight_decay != 0.0F && o_.weight_decay_mode == WeightDecay::l2) c.g = c.g + wd() * c.w;
  }

  template <class Number>
  void step(Cell<Number>& c, const RowSums<Number>& sums) const {
    switch (o_.kind) {
      case OptimizerKind::sgd:
        c.w = c.w - lr() * c.g;
        return;
      case OptimizerKind::momentum:
        return momentum(c);
      case OptimizerKind::nesterov:
        return nesterov(c);
      case OptimizerKind::adagrad:
        return adagrad(c, c.g * c.g);
      case OptimizerKind::rowwise_adagrad:
        return adagrad(c, sums[0] / dim_);
      case OptimizerKind::rmsprop:
        return rmsprop(c);
      case OptimizerKind::adam:
        return adam(c, c.g * c.g);
      case OptimizerKind::rowwise_adam:
        return adam(c, sums[0] / dim_);
      case OptimizerKind::ftrl:
        return ftrl(c);
      case OptimizerKind::lamb:
        return lamb(c, sums);
      case OptimizerKind::none:
        return;
    }
  }

  template <class Number>
  void momentum(Cell<Number>& c) const {
    Number& m = c.state[0];
    m = static_cast<double>(o_.momentum) * m - lr() * c.g;
    c.w = c.w + m;
  }

  template <class Number>
  void nesterov(Cell<Number>& c) const {
    const double b = o_.momentum;
    Number& m = c.state[0];
    const Number before = m;
    m = b * m - lr() * c.g;
    c.w = c.w + (m + b * (m - before));
  }

  template <class Number>
  void adagrad(Cell<Number>& c, const Number& square) const {
    using std::sqrt;
    Number& s = c.state[0];
    s = s + square;
    c.w = c.w - lr() * c.g / (sqrt(s) + eps());
  }

  template <class Number>
  void rmsprop(Cell<Number>& c) const {
    using std::sqrt;
    const double d = o_.decay;
    Number& v = c.state[0];
    v = d * v + (1.0 - d) * (c.g * c.g);
    c.w = c.w - lr() * c.g / (sqrt(v) + eps());
  }

  template <class Number>
  void adam(Cell<Number>& c, const Number& square) const {
    moments(c, square);
    c.w = c.w - lr() * adam_direction(c);
  }

  template <class Number>
  void ftrl(Cell<Number>& c) const {
    using std::abs;
    using std::sqrt;
    constexpr double e = ftrl_epsilon;
    const double l1 = o_.l1, l2 = o_.l2, beta = o_.beta;
    auto& [n, z] = c.state;
    const Number root = sqrt(n + e);
    n = n + c.g * c.g;
    const Number new_root = sqrt(n + e);
    z = z + (c.g - (new_root - root) / lr() * c.w);
    if (abs(z) <= l1)
      c.w = Number(0.0);
    else
      c.w = ((z > 0.0 ? l1 : -l1) - z) / ((beta + new_root) / lr() + l2);
  }

  template <class Number>
  void lamb(Cell<Number>& c, const RowSums<Number>& sums) const {
    using std::sqrt;
    const auto& [squares_of_w, squares_of_r] = sums;
    moments(c);
    const Number step = lr() * lamb_direction(c);
    const bool scaled = squares_of_w > 0.0 && squares_of_r > 0.0;
    c.w = c.w - (scaled ? sqrt(squares_of_w) / sqrt(squares_of_r) * step : step);
  }

  template <class Number>
  void moments(Cell<Number>& c, const Number& square) const {
    const double b1 = o_.beta1, b2 = o_.beta2;
    auto& [m, v] = c.state;
    m = b1 * m + (1.0 - b1) * c.g;
    v = b2 * v + (1.0 - b2) * square;
  }
  template <class Number>
  void moments(Cell<Number>& c) const {
    moments(c, Number(c.g * c.g));
  }

  /// Returns m^ / (sqrt(v^) + eps).
  template <class Number>
  Number adam_direction(const Cell<Number>& c) const {
    using std::sqrt;
    const auto& [m, v] = c.state;
    return m / correction1_ / (sqrt(v / correction2_) + eps());
  }

  /// Returns r.
  template <class Number>
  Number lamb_direction(const Cell<Number>& c) const {
    const Number r = adam_direction(c);
    return decoupled() ? Number(r + wd() * c.w) : r;
  }

  Optimizer o_;
  double dim_, correction1_, correction2_;
};

/// Returns the columns of a row. row and gradient [dim], state [state_per_row(kind, dim)].
template <class T>
std::vector<Cell<double>> cells_of(OptimizerKind kind, std::span<const T> row, std::span<const T> state,
                                   std::span<const double> gradient) {
  const auto vectors = static_cast<std::size_t>(choice_of(kind).vectors);
  const auto numbers = vectors + static_cast<std::size_t>(choice_of(kind).scalars);
  std::vector<Cell<double>> cells;
  for (std::size_t c = 0; c < row.size(); ++c) {
    cells.push_back({.w = row[c], .g = gradient[c], .state = {}});
    for (std::size_t k = 0; k < numbers; ++k)
      cells.back().state[k] = state[k < vectors ? k * row.size() + c : (vectors * row.size()) + (k - vectors)];
  }
  return cells;
}

/// Takes step number t, from 1, of one row by its summed gradient, evaluated in double and rounded once to T: float, or
/// double to study rounding. row and gradient [dim], state [state_per_row(kind, dim)]. A table of another value type
/// rounds its floats once more: RowRounding.
template <class T>
void optimizer_step(const Optimizer& optimizer, std::int64_t t, std::span<T> row, std::span<T> state,
                    std::span<const double> gradient) {
  const OptimizerRule rule(optimizer, t, std::ssize(row));
  const auto cells = cells_of<T>(optimizer.kind, row, state, gradient);
  RowSums<double> sums{};
  for (const auto& cell : cells) {
    const auto terms = rule.row_terms(cell);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += terms[i];
  }
  const auto vectors = static_cast<std::size_t>(choice_of(optimizer.kind).vectors);
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const auto after = rule.stepped(cells[c], sums);
    row[c] = static_cast<T>(after.w);
    for (std::size_t k = 0; k < vectors; ++k) state[k * row.size() + c] = static_cast<T>(after.state[k]);
    if (vectors * row.size() < state.size()) state[vectors * row.size()] = static_cast<T>(after.state[vectors]);
  }
}

}  // namespace shardmark::reference
