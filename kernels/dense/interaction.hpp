// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernels/array.hpp"
#include "kernels/dense/matrix_view.hpp"

namespace shardmark::kernels {

// These functions combine the vectors of a sample: reference/dense/layers.hpp in fp32. vectors, gradients: by feature,
// [samples, its width]; samples go to the threads in even parts.

/// Writes the vectors of each sample to x, one after the other, [samples, sum of the widths].
void concatenate(std::span<const ConstFloats> vectors, Floats x);
/// Copies the same columns of x back to each vector.
void split_columns(ConstFloats x, std::span<const Floats> vectors);

/// Writes to x [samples, means] the means over `stride` neighbours of the values one after the other.
void average_neighbours(std::span<const ConstFloats> vectors, std::int64_t stride, Floats x);
void average_neighbours_backward(ConstFloats x_gradient, std::int64_t stride, std::span<const Floats> gradients);

/// Holds for each thread the vectors of a sample, their transpose and their products.
struct DotTiles {
  Scratch<DenseExecution, float> scratch{"shardmark::dot_tiles"};
};

/// Computes z_ij = e_i . e_j, j < i, in the order of dot_place: vectors of one width, products [samples, n (n - 1) /
/// 2].
void dot_interaction(std::span<const ConstFloats> vectors, Floats products, DotTiles& tiles);
/// Computes de_i = sum over j != i of dz_ij e_j; adds to what gradients.front() holds where `add_first`.
void dot_interaction_backward(std::span<const ConstFloats> vectors, ConstFloats products_gradient,
                              std::span<const Floats> gradients, bool add_first, DotTiles& tiles);

}  // namespace shardmark::kernels
