// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device_warps.hpp"
#include "kernels/route/expand_positions.hpp"
#include "kernels/sort/balanced_ranges.hpp"

namespace shardmark::kernels::device {

/// Expands the positions of consecutive bags with a warp, a position with each lane.
template <class Exec, class Index>
struct ExpandPositions {
  using Bounds = Kokkos::LaunchBounds<256, 5>;
  static constexpr std::int64_t positions_per_warp = 128;
  static constexpr std::int64_t most_bags = 256;  ///< a warp's

  ConstArray<Exec, GradientBlock> blocks;
  ConstArray<Exec, std::int64_t> offsets;
  ConstArray<Exec, Index> indices;
  Array<Exec, std::int64_t> keys, gradient_offset;
  std::int64_t first_bag, bags_per_warp;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int lane = static_cast<int>(i % warp_lanes);
    const std::int64_t bag = first_bag + i / warp_lanes * bags_per_warp;
    const std::int64_t end = Kokkos::min(bag + bags_per_warp, static_cast<std::int64_t>(offsets.extent(0)) - 1);
    for_block_runs(
        blocks, bag, end, [](const GradientBlock& block) { return block.first_bag; },
        [&](const GradientBlock& block, std::int64_t first, std::int64_t stop) {
          for (; first < stop; first += bags_at_once)
            expand(lane, block, first, static_cast<int>(Kokkos::min(std::int64_t{bags_at_once}, stop - first)));
        });
  }

 private:
  static constexpr std::int64_t bags_at_once = 32;  ///< as a warp can hold the ends of

  KOKKOS_FORCEINLINE_FUNCTION void expand(int lane, const GradientBlock& block, std::int64_t first, int bags) const {
    const WarpTile warp = whole_warp(lane);
    const BagEnds ends(warp, offsets.data() + first, bags);
    const bool each_id = block.pooling == Pooling::none || block.pooling == Pooling::max;
    const std::int64_t first_id = block.pooling == Pooling::none ? read_only(offsets.data() + block.first_bag) : 0;
    for (int begin = 0; begin < ends.length(); begin += warp.lanes) {
      const int within = begin + warp.lane;
      const int bag = each_id ? 0 : ends.bag_of(warp, within);
      if (within >= ends.length()) continue;
      const std::int64_t position = ends.begin() + within;
      const std::int64_t vector = each_id ? position - first_id : first + bag - block.first_bag;
      keys(position) = block.first_key + static_cast<std::int64_t>(read_only(indices.data() + position));
      gradient_offset(position) = block.gradient + vector * block.gradient_stride;
    }
  }
};

template <class Exec, class Index>
void expand_positions(const Exec& exec, ConstArray<Exec, GradientBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                      ConstArray<Exec, Index> indices, Array<Exec, std::int64_t> keys,
                      Array<Exec, std::int64_t> gradient_offset, const LaterBags& from) {
  using Kernel = ExpandPositions<Exec, Index>;
  const std::int64_t bags = static_cast<std::int64_t>(offsets.extent(0)) - 1 - from.bag;
  const std::int64_t positions = static_cast<std::int64_t>(indices.extent(0)) - from.position;
  const std::int64_t wanted = Kernel::positions_per_warp * bags / Kokkos::max(positions, std::int64_t{1});
  const std::int64_t each = items_per_warp(exec, bags, Kokkos::clamp(wanted, std::int64_t{1}, Kernel::most_bags));
  for_lanes<typename Kernel::Bounds>("shardmark::expand_positions", exec, (bags + each - 1) / each,
                                     Kernel{blocks, offsets, indices, keys, gradient_offset, from.bag, each});
}

}  // namespace shardmark::kernels::device
