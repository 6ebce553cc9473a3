// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/exchange/blocks.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/messages.hpp"
#include "comm/node_channels.hpp"

namespace shardmark::comm {

/// Carries blocks by loads and stores inside a node (NodeChannels), and by the messages of `linear` between nodes. No
/// size is agreed on in advance, so the first run of a route is as fast as the later ones, and no block is too large.
class NodeShared : public Exchange {
 public:
  /// Allocates the channels in the node's memory. Collective.
  explicit NodeShared(const Communicator& comm) : comm_(comm), messages_(comm), channels_(comm) {}

  static std::string unusable(const Communicator& comm) { return NodeMemory::unusable(comm); }
  static double has(const Communicator& comm) { return NodeChannels::has(comm); }

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;

 private:
  void start_messages(const Blocks& blocks);

  const Communicator& comm_;
  Messages messages_;
  NodeChannels channels_;
};

}  // namespace shardmark::comm
