// SPDX-License-Identifier: Apache-2.0
#include "comm/reduction/halving_reduction.hpp"

#include <algorithm>
#include <bit>

namespace shardmark::comm {

HalvingReduction::HalvingReduction(const Communicator& comm)
    : Reduction(comm),
      participants_(static_cast<int>(std::bit_floor(static_cast<unsigned>(comm.size())))),
      folded_(comm.size() - participants_) {}

/// The second buffer is touched in its part of the second round alone, a quarter of the whole when no ranks fold.
void HalvingReduction::make_room() {
  if (comm_.size() == 1 || total() <= room_) return;
  room_ = total();
  for (auto& buffer : sums_) buffer = std::make_unique_for_overwrite<float[]>(room_);
}

void HalvingReduction::add(std::span<const float> partials, std::span<float> sums) {
  const int rank = comm_.rank(), self = participant(rank);
  if (rank != rank_of(self)) {
    send(partials, rank + 1);
    receive(sums, rank + 1);
    return wait();
  }
  std::span<const float> mine = partials;
  if (pair(rank)) mine = add_received(mine, 0, participants_, rank - 1);
  for (int distance = participants_ / 2; distance > 0; distance /= 2) {
    const int other = self ^ distance;
    send(of(mine, other / distance * distance, distance), rank_of(other));
    mine = add_received(mine, self / distance * distance, distance, rank_of(other));
  }
  std::ranges::copy(part(mine, rank), sums.begin());
  if (pair(rank)) send(part(mine, rank - 1), rank - 1);
  wait();
}

/// Receives the partial sums of `peer` for some participants and adds those of `mine`. Outside these participants the
/// result is undefined.
std::span<const float> HalvingReduction::add_received(std::span<const float> mine, int first, int count, int peer) {
  const auto& buffer = mine.data() == sums_[0].get() ? sums_[1] : sums_[0];
  const std::span received(buffer.get(), total());
  receive(of(received, first, count), peer);
  wait();
  add_to(of(received, first, count), of(mine, first, count));
  return received;
}

void HalvingReduction::gather(std::span<const float> own, std::span<float> all) {
  const int rank = comm_.rank(), self = participant(rank);
  if (rank != rank_of(self)) {
    send(own, rank + 1);
    receive(all, rank + 1);
    return wait();
  }
  std::ranges::copy(own, part(all, rank).begin());
  if (pair(rank)) receive(part(all, rank - 1), rank - 1);
  wait();
  for (int distance = 1; distance < participants_; distance *= 2) {
    const int other = self ^ distance;
    send(of(all, self / distance * distance, distance), rank_of(other));
    receive(of(all, other / distance * distance, distance), rank_of(other));
    wait();
  }
  if (pair(rank)) send(all, rank - 1);
  wait();
}

}  // namespace shardmark::comm
