// SPDX-License-Identifier: Apache-2.0
#include "kernels/route/strip_positions.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/sort/balanced_ranges.hpp"

namespace shardmark::kernels {

/// Writes keys, tags and weights of ids [first, behind) of one strip.
template <class Exec>
KOKKOS_FORCEINLINE_FUNCTION void list_owned_rows(const StripOwners& owners,
                                                 const ConstArray<Exec, std::int64_t>& first_keys,
                                                 const Bags<Exec, std::int64_t>& bags,
                                                 const StripPositions<Exec>& listed, std::int64_t first,
                                                 std::int64_t behind, std::int64_t shift) {
  if (listed.any.extent(0) == 0 && listed.slots.extent(0) > 0) {
    for (std::int64_t i = first; i < behind; ++i) {
      const OwnedRow owned = owners.find(bags.indices(i));
      listed.keys(i + shift) = first_keys(owned.slot) + owned.local_row;
      listed.slots(i + shift) = static_cast<std::int32_t>(owned.slot);
    }
  } else if (listed.any.extent(0) == 0) {
    for (std::int64_t i = first; i < behind; ++i) {
      const OwnedRow owned = owners.find(bags.indices(i));
      listed.keys(i + shift) = first_keys(owned.slot) + owned.local_row;
    }
  } else {
    for (std::int64_t i = first; i < behind; ++i) {
      const OwnedRow owned = owners.find(bags.indices(i));
      const bool any = listed.any(owned.slot) != 0;
      listed.keys(i + shift) = first_keys(owned.slot) + (any ? 0 : owned.local_row);
      if (listed.slots.extent(0) > 0) listed.slots(i + shift) = static_cast<std::int32_t>(owned.slot);
      listed.tags(i + shift) = any ? static_cast<std::int32_t>(owned.slot) : -1;
      listed.any_ids(i + shift) = owned.local_row;
    }
  }
  if (listed.weights.extent(0) == 0) return;
  for (std::int64_t i = first; i < behind; ++i) listed.weights(i + shift) = bags.weights(i);
}

template <class Exec>
void list_strip_positions(const Exec& exec, const RowOwners<Exec>& owners, ConstArray<Exec, std::int64_t> first_keys,
                          const Bags<Exec, std::int64_t>& bags, const StripPositions<Exec>& listed) {
  constexpr std::int64_t block_size = items_in_a_row<Exec>;
  const auto end = static_cast<std::int64_t>(listed.offsets.extent(0)) - 1;
  const auto strips = static_cast<std::int64_t>(listed.first_bag.extent(0));
  Kokkos::parallel_for(
      "shardmark::list_strip_positions", static_range(exec, (end + block_size) / block_size),
      KOKKOS_LAMBDA(const std::int64_t block) {
        const std::int64_t last = Kokkos::min(end, (block + 1) * block_size);
        if (last == end) listed.offsets(end) = static_cast<std::int64_t>(listed.keys.extent(0));
        std::int64_t b = block * block_size;
        if (b >= last) return;
        for (RangeWalk walk(listed.first_bag.data(), strips, b); b < last; walk.to(b)) {
          const Strip& strip = owners.strips(walk.range);
          const std::int64_t bag = bags.first_bag(strip.feature) - listed.first_bag(walk.range);
          const std::int64_t stop = walk.stop(last), shift = listed.shift(walk.range);
          const std::int64_t first = bags.offsets(bag + b), behind = bags.offsets(bag + stop);
          for (; b < stop; ++b) listed.offsets(b) = bags.offsets(bag + b) + shift;
          list_owned_rows(owners.of(strip), first_keys, bags, listed, first, behind, shift);
        }
      });
}

SHARDMARK_INSTANCE(list_strip_positions<DefaultSpace>)

}  // namespace shardmark::kernels
