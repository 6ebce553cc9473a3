// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/node_memory.hpp"

namespace shardmark::comm {

/// Carries bytes between the ranks of a node by loads and stores. Each pair of them has a channel in their node's
/// memory: a few slots and two counts, of the slots that were filled and of those that were emptied. The sender stores
/// a piece and counts it, the receiver loads it while the next is stored. Slots stay in the caches, so a byte crosses
/// memory as often as in one copy. Pieces of a run are slot_bytes, but for the last.
class NodeChannels {
 public:
  static constexpr std::size_t slots = 4, slot_bytes = std::size_t{64} << 10;

  /// Allocates the channels in the node's memory. Collective.
  explicit NodeChannels(const Communicator& comm);

  /// Returns the bytes of the channels of a rank: one from each rank of its node.
  static double has(const Communicator& comm);

  /// Holds what this rank knows of a channel to or from another rank of the node, and the bytes that are still to pass
  /// it in this run.
  struct Channel;
  template <class Byte>
  struct End {
    int number;  ///< of the other rank on the node
    Channel* channel;
    std::uint64_t passed = 0;  ///< slots, ever
    std::span<Byte> bytes = {};
  };
  using Out = End<const std::byte>;
  using In = End<std::byte>;

  /// Return the ends to and from the others, the nearest ones after and before this rank first.
  std::vector<Out>& out() { return out_; }
  std::vector<In>& in() { return in_; }

  /// Stores the next piece for each rank whose channel has a free slot. Returns whether any had.
  bool fill_slots();
  /// Loads the next piece from each rank that has one here. Returns whether any had.
  bool empty_slots();
  /// Returns whether nothing is left of the bytes of any end.
  bool all_passed() const;

  /// Returns the next piece from a rank where it lies, as many bytes as are left or fit a slot; empty where it has not
  /// come. drop() says that it was read, and may be overwritten.
  std::span<const std::byte> next_piece(In& end) const;
  void drop(In& end) const;

  const Communicator& node() const { return memory_.node(); }

 private:
  Channel* channels_of(int number) const;

  NodeMemory memory_;
  std::vector<Out> out_;
  std::vector<In> in_;
};

}  // namespace shardmark::comm
