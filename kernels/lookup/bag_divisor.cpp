// SPDX-License-Identifier: Apache-2.0
#include "kernels/lookup/bag_divisor.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/lookup/device_bag_divisor.hpp"

namespace shardmark::kernels {

/// Divides on the host: the vector of a bag by one thread.
template <class Exec, class Vectors>
void divide_each(const Exec& exec, ConstArray<Exec, BagVectors> blocks, ConstArray<Exec, std::int64_t> offsets,
                 ConstArray<Exec, float> weights, const Vectors& vectors) {
  const auto block_count = static_cast<std::int64_t>(blocks.extent(0));
  const float* weight = weights.extent(0) == 0 ? nullptr : weights.data();
  Kokkos::parallel_for(
      "shardmark::divide_by_bag", static_range(exec, static_cast<std::int64_t>(offsets.extent(0)) - 1),
      KOKKOS_LAMBDA(const std::int64_t bag) {
        if (bag < blocks(0).first_bag) return;
        const auto& block = blocks(last_at_most(block_count, bag, [&](std::int64_t b) { return blocks(b).first_bag; }));
        const std::int64_t within = bag - block.first_bag;
        if (within >= block.bags || !divides(block.pooling)) return;
        divide(&vectors(block.begin + within * block.stride), block.dim,
               bag_divisor(block.pooling, weight, offsets(bag), offsets(bag + 1)));
      });
}

template <class Exec, class Vectors>
void divide_by_bag(const Exec& exec, ConstArray<Exec, BagVectors> blocks, ConstArray<Exec, std::int64_t> offsets,
                   ConstArray<Exec, float> weights, const Vectors& vectors) {
  if (blocks.extent(0) == 0 || offsets.extent(0) < 2) return;
  if constexpr (on_device<Exec>)
    device::divide_by_bag(exec, blocks, offsets, weights, vectors);
  else
    divide_each(exec, blocks, offsets, weights, vectors);
}

#define BAG_DIVISOR_ON(Exec)                                  \
  SHARDMARK_INSTANCE(divide_by_bag<Exec, Array<Exec, float>>) \
  SHARDMARK_INSTANCE(divide_by_bag<Exec, Array<Exec, double>>)
SHARDMARK_ON_EACH_SPACE(BAG_DIVISOR_ON)

}  // namespace shardmark::kernels
