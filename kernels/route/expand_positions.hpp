// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "reference/pooling.hpp"

namespace shardmark::kernels {

/// Describes a run of consecutive bags of one shard in the backward direction: where the gradients of their pooled
/// embeddings lie, and which keys the shard's rows have among all rows of the rank.
struct GradientBlock {
  std::int64_t first_bag = 0;
  std::int64_t bags = 0;
  std::int64_t first_key = 0;        ///< key = first_key + local row
  std::int64_t gradient = 0;         ///< element of the first bag's gradient (none: of the first id's, max: position 0)
  std::int64_t gradient_stride = 0;  ///< elements from one gradient to the next
  Pooling pooling = Pooling::sum;    ///< none, max: one gradient per id (those of max_gradients); any other: per bag
};

/// Says where the later ones of some bags begin: the first of them, and its first position.
struct LaterBags {
  std::int64_t bag = 0;
  std::int64_t position = 0;
};

/// Computes for every position p of the bags from `from` on the key keys[p] of its row and gradient_offset[p], the
/// element where the gradient of its bag begins. blocks: ascending, together covering every bag once; offsets [bags +
/// 1]; indices [nnz] int32 or int64; keys, gradient_offset [nnz], of which the elements before from.position are left
/// as they are.
template <class Exec, class Indices>
void expand_positions(const Exec& exec, ConstArray<Exec, GradientBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                      const Indices& indices, Array<Exec, std::int64_t> keys, Array<Exec, std::int64_t> gradient_offset,
                      const LaterBags& from = {});

}  // namespace shardmark::kernels
