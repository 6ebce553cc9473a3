// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/vector_route.hpp"

#include <algorithm>

namespace shardmark {

Addresses empty_addresses(const ShardLayout& layout) {
  Addresses addresses;
  addresses.owner.assign(static_cast<std::size_t>(layout.ranks) * layout.own_slots().size(), -1);
  addresses.packed.assign(layout.slots.size(), -1);
  return addresses;
}

Route add_vector_route(const ShardLayout& layout, const BagCounts& bags, const VectorCounts& counts,
                       const std::function<bool(const Slot&)>& chosen, Addresses& addresses) {
  const auto ranks = static_cast<std::size_t>(layout.ranks);
  std::vector<std::int64_t> to_home(ranks), from_owner(ranks), most_sent(ranks), most_received(ranks);
  for (std::size_t s = 0; s < layout.slots.size(); ++s) {
    const Slot& slot = layout.slots[s];
    if (!chosen(slot)) continue;
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::int64_t most = bags(static_cast<int>(r), slot.feature) * layout.dim_of(slot);
      most_received[r] += most;
      most_sent[static_cast<std::size_t>(slot.rank)] += most;
    }
    const std::int64_t elements = counts.home[s] * layout.dim_of(slot);
    from_owner[static_cast<std::size_t>(slot.rank)] += elements;
    addresses.packed[s] = addresses.packed_size;
    addresses.packed_size += elements;
  }
  std::size_t block = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    for (const Slot& slot : layout.own_slots()) {
      if (chosen(slot)) {
        const std::int64_t elements = counts.owner[block] * layout.dim_of(slot);
        addresses.owner[block] = addresses.owner_size;
        addresses.owner_size += elements;
        to_home[r] += elements;
      }
      ++block;
    }
  }
  const std::int64_t peak = std::max(std::ranges::max(most_sent), std::ranges::max(most_received));
  return Route(std::move(to_home), std::move(from_owner), peak);
}

}  // namespace shardmark
