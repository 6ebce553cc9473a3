// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/node_shared.hpp"

#include <algorithm>

#include "comm/waiting.hpp"

namespace shardmark::comm {

/// Counts of two writers lie on different cache lines, and so do their neighbours that processors fetch in pairs.
struct NodeShared::Channel {
  static constexpr std::size_t slots = 4, slot_bytes = std::size_t{64} << 10;

  alignas(128) std::uint64_t filled;
  alignas(128) std::uint64_t emptied;
  alignas(128) std::byte bytes[slots][slot_bytes];
};

double NodeShared::has(const Communicator& comm) {
  return static_cast<double>(comm.node_size()) * static_cast<double>(sizeof(Channel));
}

/// Returns the channels to a rank, by the number of the sender.
NodeShared::Channel* NodeShared::channels_of(int number) const {
  return reinterpret_cast<Channel*>(memory_.part(number));
}

NodeShared::NodeShared(const Communicator& comm) : comm_(comm), messages_(comm), memory_(comm) {
  const Communicator& node = memory_.node();
  const int own = node.rank();
  memory_.resize(node.size() * static_cast<std::int64_t>(sizeof(Channel)));
  for (int sender = 0; sender < node.size(); ++sender) {
    show(channels_of(own)[sender].filled, 0);
    show(channels_of(own)[sender].emptied, 0);
  }
  memory_.node_barrier();
  const std::vector<int>& ranks = comm_.ranks_of(comm_.node_of(comm_.rank()));
  for (int distance = 1; distance < node.size(); ++distance) {
    const int source = rank_before(node, distance), target = rank_after(node, distance);
    out_.push_back({ranks[target], channels_of(target) + own});
    in_.push_back({ranks[source], channels_of(own) + source});
  }
}

void NodeShared::start_messages(const Blocks& blocks) {
  const auto other_node = [&](int peer) { return comm_.node_of(peer) != comm_.node_of(comm_.rank()); };
  for (int distance = 1; distance < comm_.size(); ++distance)
    if (const int source = rank_before(comm_, distance); other_node(source))
      messages_.receive(blocks.from(source), source);
  for (int distance = 1; distance < comm_.size(); ++distance)
    if (const int target = rank_after(comm_, distance); other_node(target)) messages_.send(blocks.to(target), target);
}

/// Stores the next piece for each rank whose channel has a free slot. Returns whether any had.
bool NodeShared::fill_slots() {
  bool any = false;
  for (auto& end : out_) {
    if (end.bytes.empty() || end.passed - seen(end.channel->emptied) == Channel::slots) continue;
    const auto piece = end.bytes.first(std::min(end.bytes.size(), Channel::slot_bytes));
    std::memcpy(end.channel->bytes[end.passed % Channel::slots], piece.data(), piece.size());
    show(end.channel->filled, ++end.passed);
    end.bytes = end.bytes.subspan(piece.size());
    any = true;
  }
  return any;
}

/// Loads the next piece from each rank that has one here. Returns whether any had.
bool NodeShared::empty_slots() {
  bool any = false;
  for (auto& end : in_) {
    if (end.bytes.empty() || end.passed == seen(end.channel->filled)) continue;
    const auto piece = end.bytes.first(std::min(end.bytes.size(), Channel::slot_bytes));
    std::memcpy(piece.data(), end.channel->bytes[end.passed % Channel::slots], piece.size());
    show(end.channel->emptied, ++end.passed);
    end.bytes = end.bytes.subspan(piece.size());
    any = true;
  }
  return any;
}

bool NodeShared::all_passed() const {
  const auto passed = [](const auto& end) { return end.bytes.empty(); };
  return std::ranges::all_of(out_, passed) && std::ranges::all_of(in_, passed);
}

void NodeShared::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  const Blocks blocks(comm_, route, send, receive, element_bytes);
  start_messages(blocks);
  for (auto& end : out_) end.bytes = blocks.to(end.peer);
  for (auto& end : in_) end.bytes = blocks.from(end.peer);
  fill_slots();  // so that the others have something to do meanwhile
  blocks.copy_own(comm_.rank());
  while (!all_passed()) {
    const bool filled = fill_slots(), emptied = empty_slots();
    if (filled || emptied) continue;
    messages_.progress();
    wait_a_moment();
  }
  messages_.wait();
}

}  // namespace shardmark::comm
