// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/table.hpp"

namespace shardmark::reference {

/// Describes a table of rows() rows and dim() columns as a product of cores (Oseledets 2011; FBTT-Embedding). Core t
/// has p[t] slices, each a row-major [r[t]][q[t]][r[t + 1]] array; r[0] = r[cores] = 1.
///   row i has the digits i_0 .. i_(cores-1) in the mixed radix p, i_0 the most significant;
///   column j has the digits j_0 .. j_(cores-1) in the mixed radix q;
///   entry (i, j) = G_0[i_0][:, j_0, :] G_1[i_1][:, j_1, :] ... G_(cores-1)[..][:, .., :], a product of matrices.
/// Rows of the table behind Table::rows are padding, which no id may name.
struct TensorTrainShape {
  static constexpr int most_cores = 6;

  int cores = 0;
  std::array<std::int64_t, most_cores> p{}, q{};
  std::array<std::int64_t, most_cores + 1> r{};

  constexpr std::int64_t slice_elements(int t) const { return r[t] * q[t] * r[t + 1]; }
  constexpr std::int64_t rows() const { return product(p); }
  constexpr std::int64_t dim() const { return product(q); }
  constexpr std::int64_t slices() const {
    std::int64_t sum = 0;
    for (int t = 0; t < cores; ++t) sum += p[t];
    return sum;
  }
  constexpr std::int64_t parameters() const {
    std::int64_t sum = 0;
    for (int t = 0; t < cores; ++t) sum += p[t] * slice_elements(t);
    return sum;
  }
  constexpr std::array<std::int64_t, most_cores> digits(std::int64_t row) const {
    std::array<std::int64_t, most_cores> digit{};
    for (int t = cores - 1; t >= 0; --t) {
      digit[t] = row % p[t];
      row /= p[t];
    }
    return digit;
  }

  bool operator==(const TensorTrainShape&) const = default;

 private:
  constexpr std::int64_t product(const std::array<std::int64_t, most_cores>& factors) const {
    std::int64_t result = 1;
    for (int t = 0; t < cores; ++t) result *= factors[t];
    return result;
  }
};

/// Returns the shape of the cores of a table of Storage::tt: what is given, the rest chosen. Throws InputError naming
/// the table and the numbers.
TensorTrainShape tensor_train_shape(const Table& table);

/// Returns `factors` whole numbers with product n, as equal as they can be (FBTT-Embedding's suggested_tt_shapes
/// without rounding up): of all partitions of the prime factors of n into that many blocks, none of them empty, the one
/// whose products x have the largest entropy, -sum x / S log(x / S) with S = sum x. Missing primes are ones. They come
/// in the order x_0, x_h, x_1, x_(h+1), ... of the ascending x, with h = factors / 2: two and three factors ascend. n
/// and factors at least 1. It costs up to sqrt(n) divisions.
std::vector<std::int64_t> exact_shape(std::int64_t n, int factors);

/// Does the same for the most even of n rounded up to multiples of 1, 10, 100, ... (as many as n has digits), the
/// smallest of equally even ones: product at least n. This serves the rows of a table, of which those behind n are
/// padding; columns cannot be padded.
std::vector<std::int64_t> rounded_up_shape(std::int64_t n, int factors);

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::TensorTrainShape, reference::tensor_train_shape;
}  // namespace shardmark
