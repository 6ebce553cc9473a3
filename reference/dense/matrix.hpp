// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "reference/dense/dense_math.hpp"

namespace shardmark::reference {

/// Is a matrix [rows, columns], row-major; a row of activations is a sample.
template <class Number>
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<Number> values;

  Matrix() = default;
  Matrix(std::int64_t rows_, std::int64_t columns_)
      : rows(rows_), columns(columns_), values(static_cast<std::size_t>(rows_ * columns_)) {}
  Matrix(std::int64_t rows_, std::int64_t columns_, std::vector<Number> values_)
      : rows(rows_), columns(columns_), values(std::move(values_)) {}

  Number& at(std::int64_t row, std::int64_t column) { return values[row * columns + column]; }
  const Number& at(std::int64_t row, std::int64_t column) const { return values[row * columns + column]; }
  std::span<const Number> row(std::int64_t number) const {
    return std::span(values).subspan(number * columns, columns);
  }

  bool same_shape(const Matrix& other) const { return rows == other.rows && columns == other.columns; }
  bool operator==(const Matrix&) const = default;
};

/// Converts a matrix to another type of numbers.
template <class To, class From>
Matrix<To> converted(const Matrix<From>& from) {
  Matrix<To> to(from.rows, from.columns);
  for (std::size_t i = 0; i < to.values.size(); ++i) to.values[i] = static_cast<To>(from.values[i]);
  return to;
}

/// Returns sum_i a_i b_i, as it stands here; a and b have one length. Numbers other than double and float have their
/// own overload.
template <class Number>
Number sum_of_products(std::span<const Number> a, std::span<const Number> b) {
  Number sum{};
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

template <class Number>
Matrix<Number> transposed(const Matrix<Number>& a) {
  Matrix<Number> result(a.columns, a.rows);
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (std::int64_t c = 0; c < a.columns; ++c) result.at(c, r) = a.at(r, c);
  return result;
}

/// Returns a b^T: a [m, k], b [n, k], result [m, n].
template <class Number>
Matrix<Number> product_transposed(const Matrix<Number>& a, const Matrix<Number>& b) {
  Matrix<Number> result(a.rows, b.rows);
  for (std::int64_t m = 0; m < a.rows; ++m)
    for (std::int64_t n = 0; n < b.rows; ++n) result.at(m, n) = sum_of_products(a.row(m), b.row(n));
  return result;
}

/// Returns a b: a [m, k], b [k, n], result [m, n].
template <class Number>
Matrix<Number> product(const Matrix<Number>& a, const Matrix<Number>& b) {
  return product_transposed(a, transposed(b));
}

/// Returns the result of a product in TF32, which adds up in fp32. alike: so many samples share the error that all
/// terms have to the same side. Numbers other than double and float have their own overload, as of as_tf32().
template <std::floating_point Number>
Number made_in_tf32(Number y, std::int64_t /*alike*/) {
  return y;
}

template <class Number>
Matrix<Number> read_in_tf32(Matrix<Number> x) {
  for (Number& value : x.values) value = as_tf32(value);
  return x;
}
template <class Number>
Matrix<Number> made_in_tf32(Matrix<Number> y, std::int64_t alike) {
  for (Number& value : y.values) value = made_in_tf32(value, alike);
  return y;
}

/// Returns x W^T, or x W, where samples share the weights W, which are given as products read them: x [samples, k], W
/// [n, k], or [k, n].
template <class Number>
Matrix<Number> times_transposed(const Matrix<Number>& x, const Matrix<Number>& weight, const Products& products) {
  if (products.math == DenseMath::fp32) return product_transposed(x, weight);
  return made_in_tf32(product_transposed(read_in_tf32(x), weight), products.global_batch);
}
template <class Number>
Matrix<Number> times_weights(const Matrix<Number>& x, const Matrix<Number>& weight, const Products& products) {
  return times_transposed(x, transposed(weight), products);
}
/// Returns dy^T x, a sum over samples: dy [samples, m], x [samples, n].
template <class Number>
Matrix<Number> summed_products(const Matrix<Number>& gradient, const Matrix<Number>& x, const Products& products) {
  if (products.math == DenseMath::fp32) return product(transposed(gradient), x);
  return made_in_tf32(product(transposed(read_in_tf32(gradient)), read_in_tf32(x)), 1);
}

/// Says how gradients are computed. All gradients of a sample have a factor, the derivative of its loss; numbers with
/// an error may leave out that of the factor until gradients are summed over samples or returned.
template <class Number>
struct GradientProducts : Products {
  std::vector<Number> factors = {};  ///< [samples]; none where nothing is left out
};

/// Takes out of the gradients of the logits, [samples, 1], what all gradients are to leave out; and gives it back to
/// gradients, of which row s is of sample s. Numbers that have something to leave out have their own overloads.
template <class Number>
std::vector<Number> take_factors(Matrix<Number>& /*of_logits*/) {
  return {};
}
template <class Number>
const Matrix<Number>& with_factors(const Matrix<Number>& gradient, const std::vector<Number>& /*factors*/) {
  return gradient;
}

/// Returns the sums over the rows: [columns, 1].
template <class Number>
Matrix<Number> sum_of_rows(const Matrix<Number>& a) {
  return product_transposed(transposed(a), Matrix<Number>(1, a.rows, std::vector<Number>(a.rows, Number(1.0F))));
}

/// Applies the function element by element.
template <class Number, class Function>
Matrix<Number> combined(const Matrix<Number>& a, const Matrix<Number>& b, Function&& function) {
  Matrix<Number> result(a.rows, a.columns);
  for (std::size_t i = 0; i < result.values.size(); ++i) result.values[i] = function(a.values[i], b.values[i]);
  return result;
}
template <class Number>
Matrix<Number> operator+(const Matrix<Number>& a, const Matrix<Number>& b) {
  return combined(a, b, [](const Number& x, const Number& y) { return x + y; });
}

/// Returns the product element by element.
template <class Number>
Matrix<Number> times(const Matrix<Number>& a, const Matrix<Number>& b) {
  return combined(a, b, [](const Number& x, const Number& y) { return x * y; });
}

/// Adds `row`, [columns, 1], to every row.
template <class Number>
Matrix<Number> plus_row(Matrix<Number> a, const Matrix<Number>& row) {
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (std::int64_t c = 0; c < a.columns; ++c) a.at(r, c) = a.at(r, c) + row.values[c];
  return a;
}

}  // namespace shardmark::reference
