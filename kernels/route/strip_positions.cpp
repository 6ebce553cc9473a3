// SPDX-License-Identifier: Apache-2.0
#include "kernels/route/strip_positions.hpp"

#include "kernels/instantiate.hpp"

namespace shardmark::kernels {

template <class Exec>
void list_strip_positions(const Exec& exec, const RowOwners<Exec>& owners, ConstArray<Exec, std::int64_t> first_keys,
                          const Bags<Exec, std::int64_t>& bags, const StripPositions<Exec>& listed) {
  const auto end = static_cast<std::int64_t>(listed.offsets.extent(0)) - 1;
  Kokkos::parallel_for(
      "shardmark::list_strip_positions", static_range(exec, end + 1), KOKKOS_LAMBDA(const std::int64_t b) {
        if (b == end) {
          listed.offsets(b) = static_cast<std::int64_t>(listed.keys.extent(0));
          return;
        }
        const auto s = last_at_most(static_cast<std::int64_t>(listed.first_bag.extent(0)), b, listed.first_bag);
        const Strip& strip = owners.strips(s);
        const StripOwners strip_owners = owners.of(strip);
        const std::int64_t bag = bags.first_bag(strip.feature) + b - listed.first_bag(s), shift = listed.shift(s);
        listed.offsets(b) = bags.offsets(bag) + shift;
        for (std::int64_t i = bags.offsets(bag); i < bags.offsets(bag + 1); ++i) {
          const OwnedRow owned = strip_owners.find(bags.indices(i));
          const bool any = listed.any.extent(0) > 0 && listed.any(owned.slot) != 0;
          listed.keys(i + shift) = first_keys(owned.slot) + (any ? 0 : owned.local_row);
          if (listed.any.extent(0) > 0) {
            listed.tags(i + shift) = any ? static_cast<std::int32_t>(owned.slot) : -1;
            listed.any_ids(i + shift) = owned.local_row;
          }
          if (listed.weights.extent(0) > 0) listed.weights(i + shift) = bags.weights(i);
        }
      });
}

#define STRIP_POSITIONS_ON(Exec) SHARDMARK_INSTANCE(list_strip_positions<Exec>)
SHARDMARK_ON_EACH_SPACE(STRIP_POSITIONS_ON)

}  // namespace shardmark::kernels
