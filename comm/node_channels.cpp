// SPDX-License-Identifier: Apache-2.0
#include "comm/node_channels.hpp"

#include <algorithm>
#include <cstring>

#include "comm/exchange/blocks.hpp"

namespace shardmark::comm {

/// Counts of two writers lie on different cache lines, and so do their neighbours that processors fetch in pairs.
struct NodeChannels::Channel {
  alignas(128) std::uint64_t filled;
  alignas(128) std::uint64_t emptied;
  alignas(128) std::byte bytes[slots][slot_bytes];
};

double NodeChannels::has(const Communicator& comm) {
  return static_cast<double>(comm.node_size()) * static_cast<double>(sizeof(Channel));
}

/// Returns the channels to a rank, by the number of the sender.
NodeChannels::Channel* NodeChannels::channels_of(int number) const {
  return reinterpret_cast<Channel*>(memory_.part(number));
}

NodeChannels::NodeChannels(const Communicator& comm) : memory_(comm) {
  const int own = node().rank();
  memory_.resize(node().size() * static_cast<std::int64_t>(sizeof(Channel)));
  for (int sender = 0; sender < node().size(); ++sender) {
    show(channels_of(own)[sender].filled, 0);
    show(channels_of(own)[sender].emptied, 0);
  }
  memory_.node_barrier();
  for (int distance = 1; distance < node().size(); ++distance) {
    const int source = rank_before(node(), distance), target = rank_after(node(), distance);
    out_.push_back({target, channels_of(target) + own});
    in_.push_back({source, channels_of(own) + source});
  }
}

bool NodeChannels::fill_slots() {
  bool any = false;
  for (Out& end : out_) {
    if (end.bytes.empty() || end.passed - seen(end.channel->emptied) == slots) continue;
    const auto piece = end.bytes.first(std::min(end.bytes.size(), slot_bytes));
    std::memcpy(end.channel->bytes[end.passed % slots], piece.data(), piece.size());
    show(end.channel->filled, ++end.passed);
    end.bytes = end.bytes.subspan(piece.size());
    any = true;
  }
  return any;
}

std::span<const std::byte> NodeChannels::next_piece(In& end) const {
  if (end.bytes.empty() || end.passed == seen(end.channel->filled)) return {};
  return {end.channel->bytes[end.passed % slots], std::min(end.bytes.size(), slot_bytes)};
}

void NodeChannels::drop(In& end) const {
  show(end.channel->emptied, ++end.passed);
  end.bytes = end.bytes.subspan(std::min(end.bytes.size(), slot_bytes));
}

bool NodeChannels::empty_slots() {
  bool any = false;
  for (In& end : in_) {
    const auto piece = next_piece(end);
    if (piece.empty()) continue;
    std::memcpy(end.bytes.data(), piece.data(), piece.size());
    drop(end);
    any = true;
  }
  return any;
}

bool NodeChannels::all_passed() const {
  const auto passed = [](const auto& end) { return end.bytes.empty(); };
  return std::ranges::all_of(out_, passed) && std::ranges::all_of(in_, passed);
}

}  // namespace shardmark::comm
