// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/dense/matrix.hpp"

namespace shardmark::reference {

/// The place of vector i's product with vector j < i: row by row of the lower triangle of the matrix of all products,
/// without its diagonal: (1,0) (2,0) (2,1) (3,0) ... This is interact_features() of facebookresearch/dlrm with
/// arch_interaction_itself off, its default and that of all published models. TorchRec's InteractionArch has the same
/// products in the order of the upper triangle, (0,1) (0,2) ...; HugeCTR's Interaction adds a column of zeros.
constexpr std::int64_t dot_place(std::int64_t i, std::int64_t j) { return i * (i - 1) / 2 + j; }

/// z = e_i . e_j for each two of n vectors: vectors [samples, dim] each, result [samples, n (n - 1) / 2].
template <class Number>
Matrix<Number> dot_interaction(std::span<const Matrix<Number>> vectors, std::int64_t samples) {
  const std::int64_t n = std::ssize(vectors);
  Matrix<Number> result(samples, n * (n - 1) / 2);
  for (std::int64_t s = 0; s < samples; ++s)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < i; ++j)
        result.at(s, dot_place(i, j)) = sum_of_products(vectors[i].row(s), vectors[j].row(s));
  return result;
}

/// de_i = sum over j != i of dz_ij e_j, of each vector.
template <class Number>
std::vector<Matrix<Number>> dot_interaction_backward(std::span<const Matrix<Number>> vectors,
                                                     const Matrix<Number>& gradient) {
  const std::int64_t n = std::ssize(vectors);
  std::vector<Matrix<Number>> result;
  std::vector<Number> factors(n), values(n);  // dz_ij and e_j of one column, by j
  for (std::int64_t i = 0; i < n; ++i) {
    result.emplace_back(gradient.rows, vectors[i].columns);
    for (std::int64_t s = 0; s < gradient.rows; ++s)
      for (std::int64_t c = 0; c < vectors[i].columns; ++c) {
        for (std::int64_t j = 0; j < n; ++j) {
          factors[j] = i == j ? Number{} : gradient.at(s, i > j ? dot_place(i, j) : dot_place(j, i));
          values[j] = vectors[j].at(s, c);
        }
        result[i].at(s, c) = sum_of_products(std::span<const Number>(factors), std::span<const Number>(values));
      }
  }
  return result;
}

}  // namespace shardmark::reference
