// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/exchange/blocks.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/messages.hpp"
#include "comm/node_memory.hpp"

namespace shardmark::comm {

/// Carries blocks by loads and stores inside a node, and by the messages of `linear` between nodes. Each pair of ranks
/// of a node has a channel in their node's memory: a few slots and two counts, of the slots that were filled and of
/// those that were emptied. The sender stores a piece and counts it, the receiver loads it while the next is stored.
/// Slots stay in the caches, so a byte crosses memory as often as in one copy. No size is agreed on in advance, so the
/// first run of a route is as fast as the later ones, and no block is too large.
class NodeShared : public Exchange {
 public:
  /// Allocates the channels in the node's memory. Collective.
  explicit NodeShared(const Communicator& comm);

  static std::string unusable(const Communicator& comm) { return NodeMemory::unusable(comm); }
  /// Counts a channel from each rank of its node.
  static double has(const Communicator& comm);

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;

 private:
  struct Channel;
  /// Holds what this rank knows of a channel to or from `peer`, and the bytes that are still to pass it in this run.
  template <class Byte>
  struct End {
    int peer;
    Channel* channel;
    std::uint64_t passed = 0;  ///< slots, ever
    std::span<Byte> bytes = {};
  };

  Channel* channels_of(int number) const;
  void start_messages(const Blocks& blocks);
  bool fill_slots();
  bool empty_slots();
  bool all_passed() const;

  const Communicator& comm_;
  Messages messages_;
  NodeMemory memory_;
  // The other ranks of the node, the nearest ones after and before this one first.
  std::vector<End<const std::byte>> out_;
  std::vector<End<std::byte>> in_;
};

}  // namespace shardmark::comm
