// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "kernels/balanced_ranges.hpp"
#include "kernels/work.hpp"
#include "reference/pooling.hpp"

namespace shardmark::kernels {

/// A run of consecutive bags of one shard on the way back: where the gradients of their vectors lie, and which keys the
/// shard's rows have among all rows of the rank.
struct GradientBlock {
  std::int64_t first_bag = 0;
  std::int64_t bags = 0;
  std::int64_t first_key = 0;        ///< key = first_key + local row
  std::int64_t gradient = 0;         ///< element of the first bag's gradient (none: of the first id's, max: position 0)
  std::int64_t gradient_stride = 0;  ///< elements from one gradient to the next
  Pooling pooling = Pooling::sum;    ///< none, max: one gradient per id (those of max_gradients); any other: per bag
};

/// For every position p of `indices`: keys[p] of its row and gradient_offset[p], the element where the gradient of its
/// bag begins. blocks: ascending, together covering every bag once; offsets [bags + 1]; indices [nnz] int32 or int64;
/// keys, gradient_offset [nnz].
template <class Exec, class Indices>
void expand_positions(const Exec& exec, ConstArray<Exec, GradientBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                      const Indices& indices, Array<Exec, std::int64_t> keys,
                      Array<Exec, std::int64_t> gradient_offset) {
  constexpr std::int64_t grain = on_device<Exec> ? 16 : 2048;
  const std::int64_t bags = static_cast<std::int64_t>(offsets.extent(0)) - 1;
  const auto block_count = static_cast<std::int64_t>(blocks.extent(0));
  if (bags <= 0 || block_count == 0) return;
  const BalancedRanges ranges{bags, static_cast<std::int64_t>(indices.extent(0)), grain};
  Kokkos::parallel_for(
      "shardmark::expand_positions", static_range(exec, ranges.count()), KOKKOS_LAMBDA(const std::int64_t range) {
        const std::int64_t end = ranges.begin(range + 1, offsets);
        std::int64_t bag = ranges.begin(range, offsets);
        if (bag == end) return;
        std::int64_t b = last_at_most(block_count, bag, [&](std::int64_t i) { return blocks(i).first_bag; });
        for (; bag < end; ++b) {
          const GradientBlock block = blocks(b);
          const std::int64_t stop = Kokkos::min(end, block.first_bag + block.bags);
          std::int64_t i = offsets(bag);
          const std::int64_t last = offsets(stop);
          for (std::int64_t k = i; k < last; ++k) keys(k) = block.first_key + static_cast<std::int64_t>(indices(k));
          if (block.pooling == Pooling::none || block.pooling == Pooling::max) {
            const std::int64_t first = block.pooling == Pooling::none ? offsets(block.first_bag) : 0;
            for (; i < last; ++i) gradient_offset(i) = block.gradient + (i - first) * block.gradient_stride;
            bag = stop;
          }
          for (; bag < stop; ++bag) {
            const std::int64_t vector = block.gradient + (bag - block.first_bag) * block.gradient_stride;
            for (const std::int64_t next = offsets(bag + 1); i < next; ++i) gradient_offset(i) = vector;
          }
        }
      });
}

constexpr Work expand_positions_work(std::int64_t bags, std::int64_t ids, std::int64_t index_bytes) {
  return {.bytes_read = (bags + 1) * 8 + ids * index_bytes, .bytes_written = ids * 16, .flops = 0};
}

}  // namespace shardmark::kernels
