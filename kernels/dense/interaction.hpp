// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernels/array.hpp"
#include "kernels/dense/matrix_view.hpp"

namespace shardmark::kernels {

// Where the vectors of a sample meet: reference/dense/layers.hpp in
// fp32. vectors, gradients: by feature, [samples, its width]; samples go to the threads in even parts.

/// x = (vectors one after the other), [samples, sum of the widths].
void concatenate(std::span<const ConstFloats> vectors, Floats x);
/// The same columns of x back to each.
void split_columns(ConstFloats x, std::span<const Floats> vectors);

/// Means over `stride` neighbours of the values one after the other; x [samples, means].
void average_neighbours(std::span<const ConstFloats> vectors, std::int64_t stride, Floats x);
void average_neighbours_backward(ConstFloats x_gradient, std::int64_t stride, std::span<const Floats> gradients);

/// For each thread the vectors of a sample, their transpose and their products.
struct DotTiles {
  Scratch<DenseExecution, float> scratch{"shardmark::dot_tiles"};
};

/// z_ij = e_i . e_j, j < i, in the order of dot_place: vectors of one width, products [samples, n (n - 1) / 2].
void dot_interaction(std::span<const ConstFloats> vectors, Floats products, DotTiles& tiles);
/// de_i = sum over j != i of dz_ij e_j; added to what gradients.front() holds where `add_first`.
void dot_interaction_backward(std::span<const ConstFloats> vectors, ConstFloats products_gradient,
                              std::span<const Floats> gradients, bool add_first, DotTiles& tiles);

}  // namespace shardmark::kernels
