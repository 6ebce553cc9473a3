// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/exchange/blocks.hpp"
#include "comm/exchange/byte_buffer.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/exchange/per_route.hpp"
#include "comm/messages.hpp"

namespace shardmark::comm {

/// Exchanges over rails: between nodes, only ranks of the same number within their node communicate (Tutel's 2DH,
/// HybridBackend's dual modulo). First each rank gives the rank of its node with number l all that is for number l of
/// any node, then number l sends to number l of each other node what its node has for it. A rank sends N-1 messages
/// between nodes in place of (N-1) L, L times as large, and each byte makes one more trip within the node. On a route's
/// first run the ranks of a node exchange the sizes.
class NodeAware : public Exchange {
 public:
  explicit NodeAware(const Communicator& comm);

  static std::string unusable(const Communicator& comm);
  /// Counts one buffer for each direction into and out of the node.
  static double keeps(const Communicator&, int) { return 4.0; }

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;
  std::span<const std::int64_t> sent() const override { return messages_.sent(); }

 private:
  using Sizes =
      std::vector<std::vector<std::int64_t>>;  ///< elements that [number in this node] has for [node]'s own rail

  void find_sizes(const Route& route, Sizes& sizes);
  void within_node(const Blocks& blocks, const Sizes& sizes, std::int64_t element_bytes);
  void between_nodes(const Blocks& blocks, const Sizes& sizes, std::int64_t element_bytes);
  /// Returns the rank with this number on the node.
  int on(int node, int number) const { return comm_.ranks_of(node)[number]; }

  const Communicator& comm_;
  const int node_;
  const int number_;
  Messages messages_;
  PerRoute<Sizes> sizes_;
  ByteBuffer to_rails_, from_node_, to_nodes_, from_nodes_;
};

}  // namespace shardmark::comm
