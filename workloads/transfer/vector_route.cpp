// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/vector_route.hpp"

#include <algorithm>

namespace shardmark {

Addresses empty_addresses(const ShardLayout& layout) {
  Addresses addresses;
  addresses.owner.assign(static_cast<std::size_t>(layout.ranks) * layout.own_slots().size(), -1);
  addresses.partials_of_strip.resize(layout.strips.size());
  return addresses;
}

Route add_vector_route(const ShardLayout& layout, const BagCounts& bags, const std::function<bool(const Slot&)>& chosen,
                       Addresses& addresses) {
  const auto ranks = static_cast<std::size_t>(layout.ranks);
  std::vector<std::int64_t> to_home(ranks), from_owner(ranks), sent_by(ranks), received_by(ranks);
  for (const Slot& slot : layout.slots) {
    if (!chosen(slot)) continue;
    const std::int64_t dim = layout.dim_of(slot);
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::int64_t elements = bags(static_cast<int>(r), slot.feature) * dim;
      received_by[r] += elements;
      sent_by[static_cast<std::size_t>(slot.rank)] += elements;
    }
    const std::int64_t elements = bags(layout.rank, slot.feature) * dim;
    from_owner[static_cast<std::size_t>(slot.rank)] += elements;
    addresses.partials_of_strip[static_cast<std::size_t>(slot.strip)].push_back(addresses.packed_size);
    addresses.packed_size += elements;
  }
  auto address = addresses.owner.begin();
  for (std::size_t r = 0; r < ranks; ++r) {
    for (const Slot& slot : layout.own_slots()) {
      if (chosen(slot)) {
        const std::int64_t elements = bags(static_cast<int>(r), slot.feature) * layout.dim_of(slot);
        *address = addresses.owner_size;
        addresses.owner_size += elements;
        to_home[r] += elements;
      }
      ++address;
    }
  }
  const std::int64_t peak = std::max(std::ranges::max(sent_by), std::ranges::max(received_by));
  return Route(std::move(to_home), std::move(from_owner), peak);
}

}  // namespace shardmark
