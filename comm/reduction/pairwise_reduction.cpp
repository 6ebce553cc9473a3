// SPDX-License-Identifier: Apache-2.0
#include "comm/reduction/pairwise_reduction.hpp"

#include <algorithm>

#include "comm/exchange/blocks.hpp"

namespace shardmark::comm {

void PairwiseReduction::make_room() {
  if (comm_.size() < 3 || own_size() <= room_) return;
  room_ = own_size();
  for (auto& buffer : arrived_) buffer = std::make_unique_for_overwrite<float[]>(room_);
}

/// The first to come is received in `sums`, where the own partial sums are added to it: a + b is b + a.
void PairwiseReduction::add(std::span<const float> partials, std::span<float> sums) {
  const auto own = part(partials, comm_.rank());
  if (comm_.size() == 1) {
    std::ranges::copy(own, sums.begin());
    return;
  }
  std::span<const float> to_add = own;
  for (int distance = 1; distance < comm_.size(); ++distance) {
    const std::span<float> room = distance == 1 ? sums : std::span(arrived_[distance % 2].get(), sums.size());
    receive(room, rank_before(comm_, distance));
    send(part(partials, rank_after(comm_, distance)), rank_after(comm_, distance));
    if (distance > 1) {
      add_to(sums, to_add);
      to_add = room;
    }
    wait();
  }
  add_to(sums, to_add);
}

void PairwiseReduction::gather(std::span<const float> own, std::span<float> all) {
  std::ranges::copy(own, part(all, comm_.rank()).begin());
  for (int distance = 1; distance < comm_.size(); ++distance) {
    receive(part(all, rank_before(comm_, distance)), rank_before(comm_, distance));
    send(own, rank_after(comm_, distance));
    wait();
  }
}

}  // namespace shardmark::comm
