// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/vector_route.hpp"

#include <algorithm>

namespace shardmark::workloads {

VectorPlaces no_places(const ShardLayout& layout) {
  VectorPlaces places;
  places.owner.assign(static_cast<std::size_t>(layout.ranks) * layout.own_slots().size(), -1);
  places.packed.assign(layout.slots.size(), -1);
  places.stays.assign(layout.own_slots().size(), -1);
  return places;
}

RowBlocks add_vector_blocks(const ShardLayout& layout, const BagCounts& bags, const VectorCounts& counts,
                            const std::function<bool(const Slot&)>& chosen, bool own_stays, VectorPlaces& places) {
  const auto ranks = static_cast<std::size_t>(layout.ranks);
  RowBlocks blocks;
  struct Total {
    std::int64_t rows = 0, elements = 0;
  };
  std::vector<Total> sent_by(ranks), received_by(ranks);
  const auto stays = [&](int owner, int home) { return own_stays && owner == home; };
  for (std::size_t s = 0; s < layout.slots.size(); ++s) {
    const Slot& slot = layout.slots[s];
    if (!chosen(slot)) continue;
    const std::int64_t dim = layout.dim_of(slot);
    for (std::size_t r = 0; r < ranks; ++r) {
      if (stays(slot.rank, static_cast<int>(r))) continue;
      const std::int64_t rows = bags(static_cast<int>(r), slot.feature);
      for (Total* total : {&received_by[r], &sent_by[slot.rank]}) {
        total->rows += rows;
        total->elements += rows * dim;
      }
    }
    if (stays(slot.rank, layout.rank)) continue;
    blocks.home.push_back({slot.rank, counts.home[s], dim});
    places.packed[s] = places.packed_size;
    places.packed_size += counts.home[s] * dim;
  }
  for (std::size_t k = 0; k < layout.own_slots().size() && own_stays; ++k) {
    const std::size_t s = static_cast<std::size_t>(layout.first_slot[layout.rank]) + k;
    if (!chosen(layout.slots[s])) continue;
    places.packed[s] = places.stays[k] = places.packed_size;
    places.packed_size += counts.home[s] * layout.dim_of(layout.slots[s]);
  }
  std::size_t block = 0;
  for (int home = 0; home < layout.ranks; ++home) {
    for (const Slot& slot : layout.own_slots()) {
      if (chosen(slot) && !stays(layout.rank, home)) {
        blocks.owner.push_back({home, counts.owner[block], layout.dim_of(slot)});
        places.owner[block] = places.owner_size;
        places.owner_size += counts.owner[block] * layout.dim_of(slot);
      }
      ++block;
    }
  }
  for (const auto& totals : {sent_by, received_by})
    for (const Total& total : totals) {
      blocks.row_bound = std::max(blocks.row_bound, total.rows);
      blocks.element_bound = std::max(blocks.element_bound, total.elements);
    }
  return blocks;
}

}  // namespace shardmark::workloads
