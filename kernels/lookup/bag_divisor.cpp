// SPDX-License-Identifier: Apache-2.0
#include "kernels/lookup/bag_divisor.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/lookup/device_bag_divisor.hpp"

namespace shardmark::kernels {

/// Divides on the host: the vectors of some consecutive bags by one thread.
template <class Exec, class Vectors>
void divide_each(const Exec& exec, ConstArray<Exec, BagVectors> blocks, ConstArray<Exec, std::int64_t> offsets,
                 ConstArray<Exec, float> weights, const Vectors& vectors) {
  constexpr std::int64_t at_once = 64;
  const std::int64_t bags = static_cast<std::int64_t>(offsets.extent(0)) - 1;
  const float* weight = weights.extent(0) == 0 ? nullptr : weights.data();
  Kokkos::parallel_for(
      "shardmark::divide_by_bag", static_range(exec, (bags + at_once - 1) / at_once),
      KOKKOS_LAMBDA(const std::int64_t range) {
        for_block_runs(
            blocks, range * at_once, Kokkos::min((range + 1) * at_once, bags),
            [](const BagVectors& block) { return block.first_bag; },
            [&](const BagVectors& block, std::int64_t first, std::int64_t stop) {
              if (!divides(block.pooling)) return;
              for (std::int64_t bag = first; bag < stop; ++bag)
                divide(&vectors(block.begin + (bag - block.first_bag) * block.stride), block.dim,
                       bag_divisor(block.pooling, weight, offsets(bag), offsets(bag + 1)));
            });
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

SHARDMARK_INSTANCE(divide_by_bag<DefaultSpace, Array<DefaultSpace, float>>)
SHARDMARK_INSTANCE(divide_by_bag<DefaultSpace, Array<DefaultSpace, double>>)

}  // namespace shardmark::kernels
