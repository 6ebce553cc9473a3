// SPDX-License-Identifier: Apache-2.0
#include "kernels/route/expand_positions.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/route/device_expand_positions.hpp"
#include "kernels/sort/balanced_ranges.hpp"

namespace shardmark::kernels {

/// Expands on the host: ranges of positions by one thread each.
template <class Exec, class Indices>
void expand_ranges(const Exec& exec, ConstArray<Exec, GradientBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                   const Indices& indices, Array<Exec, std::int64_t> keys, Array<Exec, std::int64_t> gradient_offset,
                   const LaterBags& from) {
  constexpr std::int64_t grain = 2048;
  const std::int64_t bags = static_cast<std::int64_t>(offsets.extent(0)) - 1 - from.bag;
  const auto block_count = static_cast<std::int64_t>(blocks.extent(0));
  const BalancedRanges ranges{bags, static_cast<std::int64_t>(indices.extent(0)) - from.position, grain};
  Kokkos::parallel_for(
      "shardmark::expand_positions", static_range(exec, ranges.count()), KOKKOS_LAMBDA(const std::int64_t range) {
        const auto positions_before = [&](std::int64_t i) { return offsets(from.bag + i) - from.position; };
        const std::int64_t end = from.bag + ranges.begin(range + 1, positions_before);
        std::int64_t bag = from.bag + ranges.begin(range, positions_before);
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
          // One id is written whether or not the bag has any, the next bag overwriting it: lengths of 0 and 1 are what
          // rows that are split give, and no processor predicts them.
          for (; bag < stop && i < last; ++bag) {
            const std::int64_t vector = block.gradient + (bag - block.first_bag) * block.gradient_stride;
            const std::int64_t next = offsets(bag + 1);
            gradient_offset(i) = vector;
            for (++i; i < next; ++i) gradient_offset(i) = vector;
            i = next;
          }
          bag = stop;
        }
      });
}

template <class Exec, class Indices>
void expand_positions(const Exec& exec, ConstArray<Exec, GradientBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                      const Indices& indices, Array<Exec, std::int64_t> keys, Array<Exec, std::int64_t> gradient_offset,
                      const LaterBags& from) {
  if (static_cast<std::int64_t>(offsets.extent(0)) - 1 - from.bag <= 0 || blocks.extent(0) == 0) return;
  if constexpr (on_device<Exec>)
    device::expand_positions<Exec, typename Indices::non_const_value_type>(exec, blocks, offsets, indices, keys,
                                                                           gradient_offset, from);
  else
    expand_ranges(exec, blocks, offsets, indices, keys, gradient_offset, from);
}

SHARDMARK_INSTANCE(expand_positions<DefaultSpace, Array<DefaultSpace, std::int32_t>>)
SHARDMARK_INSTANCE(expand_positions<DefaultSpace, Array<DefaultSpace, std::int64_t>>)
SHARDMARK_INSTANCE(expand_positions<DefaultSpace, ConstArray<DefaultSpace, std::int32_t>>)
SHARDMARK_INSTANCE(expand_positions<DefaultSpace, ConstArray<DefaultSpace, std::int64_t>>)

}  // namespace shardmark::kernels
