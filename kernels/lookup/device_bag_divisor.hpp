// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device_warps.hpp"
#include "kernels/lookup/bag_divisor.hpp"
#include "kernels/sort/balanced_ranges.hpp"

namespace shardmark::kernels::device {

/// Divides the vectors of the bags [first, stop) of a block with a warp, one with each of its tiles at a time, by Size
/// values a lane.
template <int Size, class Exec, class Value>
KOKKOS_FORCEINLINE_FUNCTION void divide_columns(int lane, const BagVectors& block, std::int64_t first,
                                                std::int64_t stop, const ConstArray<Exec, std::int64_t>& offsets,
                                                const ConstArray<Exec, float>& weights,
                                                const Array<Exec, Value>& vectors) {
  const NumberedTile tile = tile_of(lane, (block.dim + Size - 1) / Size);
  const float* weight = weights.extent(0) == 0 ? nullptr : weights.data();
  for (std::int64_t bag = first + tile.number; bag < stop; bag += tile.tiles()) {
    const double divisor = bag_divisor(block.pooling, weight, offsets(bag), offsets(bag + 1));
    if (divisor == 1) continue;
    Value* vector = vectors.data() + block.begin + (bag - block.first_bag) * block.stride;
    for (std::int64_t column = tile.lane * Size; column < block.dim; column += tile.lanes * Size) {
      auto values = load_chunk<Size>(vector + column);
      divide(values.at, Size, divisor);
      store_chunk<Size>(vector + column, values);
    }
  }
}

template <class Exec, class Value>
KOKKOS_FORCEINLINE_FUNCTION void divide_vectors(int lane, const BagVectors& block, std::int64_t first,
                                                std::int64_t stop, const ConstArray<Exec, std::int64_t>& offsets,
                                                const ConstArray<Exec, float>& weights,
                                                const Array<Exec, Value>& vectors) {
  constexpr int size = 16 / sizeof(Value);
  if (block.dim % size == 0 && block.stride % size == 0 && aligned(vectors.data() + block.begin, 16))
    divide_columns<size, Exec>(lane, block, first, stop, offsets, weights, vectors);
  else
    divide_columns<1, Exec>(lane, block, first, stop, offsets, weights, vectors);
}

/// Divides the vectors of consecutive bags with a warp.
template <class Exec, class Value>
struct BagDivision {
  static constexpr std::int64_t bags_per_warp = 16;
  using Bounds = Kokkos::LaunchBounds<256, 4>;

  ConstArray<Exec, BagVectors> blocks;
  ConstArray<Exec, std::int64_t> offsets;
  ConstArray<Exec, float> weights;
  Array<Exec, Value> vectors;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int lane = static_cast<int>(i % warp_lanes);
    const std::int64_t bag = i / warp_lanes * bags_per_warp;
    const std::int64_t end = Kokkos::min(bag + bags_per_warp, static_cast<std::int64_t>(offsets.extent(0)) - 1);
    for_block_runs(
        blocks, bag, end, [](const BagVectors& block) { return block.first_bag; },
        [&](const BagVectors& block, std::int64_t first, std::int64_t stop) {
          if (divides(block.pooling)) divide_vectors<Exec>(lane, block, first, stop, offsets, weights, vectors);
        });
  }
};

template <class Exec, class Value>
void divide_by_bag(const Exec& exec, ConstArray<Exec, BagVectors> blocks, ConstArray<Exec, std::int64_t> offsets,
                   ConstArray<Exec, float> weights, const Array<Exec, Value>& vectors) {
  using Kernel = BagDivision<Exec, Value>;
  const std::int64_t bags = static_cast<std::int64_t>(offsets.extent(0)) - 1;
  for_lanes<typename Kernel::Bounds>("shardmark::divide_by_bag", exec,
                                     (bags + Kernel::bags_per_warp - 1) / Kernel::bags_per_warp,
                                     Kernel{blocks, offsets, weights, vectors});
}

}  // namespace shardmark::kernels::device
