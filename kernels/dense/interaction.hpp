// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/dense/matrix_list.hpp"

namespace shardmark::kernels {

// These functions combine the vectors of a sample: reference/dense/layers.hpp in fp32. vectors, gradients: by feature,
// [samples, its width]; on a host samples go to the threads in even parts.

/// Writes the vectors of each sample to x, one after the other, [samples, sum of the widths].
void concatenate(const MatrixList<const float>& vectors, Floats x);
/// Copies the same columns of x back to each vector.
void split_columns(ConstFloats x, const MatrixList<float>& vectors);
/// Copies a matrix to another one of its shape.
void copy_matrix(ConstFloats from, Floats to);

/// Writes to x [samples, means] the means over `stride` neighbours of the values one after the other.
void average_neighbours(const MatrixList<const float>& vectors, std::int64_t stride, Floats x);
void average_neighbours_backward(ConstFloats x_gradient, std::int64_t stride, const MatrixList<float>& gradients);

/// Holds for each thread of a host the vectors of a sample, their transpose and their products.
struct DotTiles {
  Scratch<HostThreads, float> scratch{"shardmark::dot_tiles"};
};

/// Computes z_ij = e_i . e_j, j < i, in the order of dot_place: vectors of one width, products [samples, n (n - 1) /
/// 2].
void dot_interaction(const MatrixList<const float>& vectors, Floats products, DotTiles& tiles);
/// Computes de_i = sum over j != i of dz_ij e_j; adds to what the first of the gradients holds where `add_first`.
void dot_interaction_backward(const MatrixList<const float>& vectors, ConstFloats products_gradient,
                              const MatrixList<float>& gradients, bool add_first, DotTiles& tiles);

}  // namespace shardmark::kernels
