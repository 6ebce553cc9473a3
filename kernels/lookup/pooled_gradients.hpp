// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lookup/pooled_lookup.hpp"

namespace shardmark::kernels {

/// Describes what a block of pooled_lookup wrote (at `output`), and the gradients of those vectors.
struct PooledGradient : LookupBlock {
  std::int64_t gradient = 0;            ///< element of the gradient of the first bag's vector
  std::int64_t gradient_stride = 0;     ///< elements from one to the next
  std::int64_t id_gradient = 0;         ///< element of the vector of position 0, see max_gradients
  std::int64_t id_gradient_stride = 0;  ///< elements from one position's vector to the next, at least dim
};

/// Computes the backward pass of Pooling::max: one gradient vector per id of the blocks of that pooling; others are
/// left alone.
///   id_gradients[i][c] = gradient[bag][c] / ties where w_i x_i[c] is the maximum that `ties` ids of the bag attain,
///   else 0
/// as the gradient of w_i x_i; the update then sees features without pooling. Call it before the rows are updated.
///   blocks: as pooled_lookup had them, `output` in `pooled`, and where the gradients lie
///   offsets, indices, weights: as there
///   id_gradients: that of position i at block.id_gradient + i block.id_gradient_stride (see expand_positions)
template <class Exec, class Indices>
void max_gradients(const Exec& exec, ConstArray<Exec, PooledGradient> blocks, ConstArray<Exec, std::int64_t> offsets,
                   const Indices& indices, ConstArray<Exec, float> weights, ConstArray<Exec, float> pooled,
                   ConstArray<Exec, float> gradients, const Array<Exec, float>& id_gradients);

/// Computes the gradient of every weight w_i, given the gradient g of the vectors y that pooled_lookup wrote:
///   none, sum  g x_i        mean  g (x_i - y) / sum_j w_j
///   sqrtn      g (x_i - y w_i / q) / q,  q = sqrt(sum_j w_j^2)
/// a dot product over the columns; 0 where the divisor is 0. For max it takes a block of Pooling::none whose gradients
/// are those of max_gradients. The result is deterministic: fp32 products summed in one order. Call it before the rows
/// are updated.
///   blocks: as pooled_lookup had them, and where the gradients lie; offsets, indices, weights: as there; output: [nnz]
template <class Exec, class Indices>
void weight_gradients(const Exec& exec, ConstArray<Exec, PooledGradient> blocks, ConstArray<Exec, std::int64_t> offsets,
                      const Indices& indices, ConstArray<Exec, float> weights, ConstArray<Exec, float> gradients,
                      const Array<Exec, float>& output);

}  // namespace shardmark::kernels
