// SPDX-License-Identifier: Apache-2.0
#include "reference/dense/uncertain.hpp"

#include <algorithm>
#include <array>

namespace shardmark::reference {
namespace {

// The widest vectors that the processor has, of those that the compiler was not told of.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define SHARDMARK_WIDEST __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define SHARDMARK_WIDEST
#endif

constexpr std::int64_t few = 8;  // terms, columns
constexpr std::int64_t tile_rows = 4, tile_columns = 8;

/// Holds value, square of it, squared errors and the square of value and error of each number, term by term: term k of
/// `width` rows beside each other.
struct Terms {
  std::vector<double> value, square, error, in_sums, whole;

  Terms(const Matrix<Uncertain>& matrix, std::int64_t first, std::int64_t width) {
    const auto size = static_cast<std::size_t>(matrix.columns * width);
    for (auto* each : {&value, &square, &error, &in_sums, &whole}) each->resize(size);
    for (std::int64_t i = 0; i < std::min(width, matrix.rows - first); ++i)
      for (std::int64_t k = 0; k < matrix.columns; ++k) {
        const Uncertain& number = matrix.at(first + i, k);
        value[k * width + i] = number.value;
        square[k * width + i] = number.value * number.value;
        error[k * width + i] = number.error * number.error;
        in_sums[k * width + i] = number.in_sums * number.in_sums;
        whole[k * width + i] = square[k * width + i] + error[k * width + i];
      }
  }
};

using TileOf = std::array<double, tile_rows * tile_columns>;
struct Sums {
  TileOf value{}, square{}, brought{}, brought_in_sums{};
};

SHARDMARK_WIDEST void add_terms(const Terms& a, const Terms& b, std::int64_t depth, Sums& sums) {
  double value[tile_rows][tile_columns] = {}, square[tile_rows][tile_columns] = {},
         brought[tile_rows][tile_columns] = {}, in_sums[tile_rows][tile_columns] = {};
  const double *av = a.value.data(), *as = a.square.data(), *ae = a.error.data(), *ai = a.in_sums.data();
  const double *bv = b.value.data(), *bs = b.square.data(), *be = b.error.data(), *bi = b.in_sums.data(),
               *bw = b.whole.data();
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t i = 0; i < tile_rows; ++i)
      for (std::int64_t j = 0; j < tile_columns; ++j) {
        value[i][j] += av[i] * bv[j];
        square[i][j] += as[i] * bs[j];
        brought[i][j] += ae[i] * bw[j] + as[i] * be[j];
        in_sums[i][j] += ai[i] * bw[j] + as[i] * bi[j];
      }
    av += tile_rows, as += tile_rows, ae += tile_rows, ai += tile_rows;
    bv += tile_columns, bs += tile_columns, be += tile_columns, bi += tile_columns;
    bw += tile_columns;
  }
  std::copy_n(&value[0][0], sums.value.size(), sums.value.begin());
  std::copy_n(&square[0][0], sums.square.size(), sums.square.begin());
  std::copy_n(&brought[0][0], sums.brought.size(), sums.brought.begin());
  std::copy_n(&in_sums[0][0], sums.brought_in_sums.size(), sums.brought_in_sums.begin());
}

Uncertain summed(double value, double squares, double brought, double brought_in_sums, double n) {
  if (squares == 0.0 && brought == 0.0) return {value, 0.0};
  const double own =
      unit_roundoff * unit_roundoff * n * (value * value + squares) + n * Uncertain::flushed * Uncertain::flushed;
  return Uncertain(value, std::sqrt(brought + own), std::sqrt(brought_in_sums + own))
      .in_fp32(std::sqrt(n * (value * value + squares)));
}

Matrix<Uncertain> one_by_one(const Matrix<Uncertain>& a, const Matrix<Uncertain>& b) {
  Matrix<Uncertain> result(a.rows, b.rows);
  for (std::int64_t m = 0; m < a.rows; ++m)
    for (std::int64_t n = 0; n < b.rows; ++n) result.at(m, n) = sum_of_products(a.row(m), b.row(n));
  return result;
}

}  // namespace

std::vector<Uncertain> take_factors(Matrix<Uncertain>& of_logits) {
  constexpr double largest_share = 0x1p20;  // what may be flushed under it is far below all that counts
  std::vector<Uncertain> factors;
  for (Uncertain& derivative : of_logits.values) {
    const double magnitude = std::abs(derivative.value), share = derivative.error / magnitude;
    if (share < largest_share) {
      factors.emplace_back(1.0, share, derivative.in_sums / magnitude);
      derivative = {derivative.value, unit_roundoff * magnitude};
    } else {
      factors.emplace_back(1.0);
    }
  }
  return factors;
}

Matrix<Uncertain> with_factors(const Matrix<Uncertain>& gradient, const std::vector<Uncertain>& factors) {
  if (factors.empty()) return gradient;
  Matrix<Uncertain> whole = gradient;
  for (std::int64_t s = 0; s < whole.rows; ++s)
    for (std::int64_t c = 0; c < whole.columns; ++c) {
      Uncertain& g = whole.at(s, c);
      g = {g.value, std::sqrt(Uncertain::square_of_product(g, factors[s], &Uncertain::error)),
           std::sqrt(Uncertain::square_of_product(g, factors[s], &Uncertain::in_sums))};
    }
  return whole;
}

Matrix<Uncertain> product_transposed(const Matrix<Uncertain>& a, const Matrix<Uncertain>& b) {
  const std::int64_t depth = a.columns;
  if (depth < few || b.rows < few) return one_by_one(a, b);
  Matrix<Uncertain> result(a.rows, b.rows);
  std::vector<Terms> of_a;
  for (std::int64_t m = 0; m < a.rows; m += tile_rows) of_a.emplace_back(a, m, tile_rows);
  Sums sums;
  for (std::int64_t n = 0; n < b.rows; n += tile_columns) {
    const Terms of_b(b, n, tile_columns);
    for (std::int64_t m = 0; m < a.rows; m += tile_rows) {
      add_terms(of_a[m / tile_rows], of_b, depth, sums);
      for (std::int64_t i = 0; i < std::min(tile_rows, a.rows - m); ++i)
        for (std::int64_t j = 0; j < std::min(tile_columns, b.rows - n); ++j) {
          const std::size_t at = i * tile_columns + j;
          result.at(m + i, n + j) = summed(sums.value[at], sums.square[at], sums.brought[at], sums.brought_in_sums[at],
                                           static_cast<double>(depth));
        }
    }
  }
  return result;
}

}  // namespace shardmark::reference
