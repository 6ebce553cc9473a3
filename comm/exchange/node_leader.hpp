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

/// Exchanges between nodes through leaders. The ranks of a node form groups of neighbours, each with a leader (its
/// lowest rank), and only leaders communicate between nodes: a rank gives its leader all that is for other nodes, the
/// leaders exchange what is for each other's groups, and each gives its members what came. There is one message between
/// two groups in place of one between any two of their ranks, for two more trips within the node through the leader.
/// Within a node ranks send to each other directly. On a route's first run the members send their leader the sizes.
class NodeLeader : public Exchange {
 public:
  /// `leaders` is their number per node, at most one per rank; 1 is the classic form.
  NodeLeader(const Communicator& comm, int leaders);

  static std::string unusable(const Communicator& comm);
  /// Counts a rank's own blocks, and for a leader those of its members to and from other nodes, each twice.
  static double keeps(const Communicator& comm, int leaders);

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;
  std::span<const std::int64_t> sent() const override { return messages_.sent(); }

 private:
  using Group = std::vector<int>;  ///< ranks, the leader first
  /// Holds at a leader what each member sends to and receives from each rank, in elements: [member][rank].
  struct Sizes {
    std::vector<std::vector<std::int64_t>> send, receive;
  };

  void find_sizes(const Route& route, Sizes& sizes);
  void gather(const Blocks& blocks, const Sizes& sizes, std::int64_t element_bytes);
  void exchange(const Sizes& sizes, std::int64_t element_bytes);
  void scatter(const Blocks& blocks, const Sizes& sizes, std::int64_t element_bytes);
  bool leads() const { return group_->front() == comm_.rank(); }
  bool is_away(const Group& group) const { return comm_.node_of(group.front()) != comm_.node_of(comm_.rank()); }

  const Communicator& comm_;
  std::vector<Group> groups_;  ///< of all nodes
  const Group* group_ = nullptr;
  Messages messages_;
  PerRoute<Sizes> sizes_;
  ByteBuffer own_, gathered_, to_leaders_, from_leaders_, scattered_;
};

}  // namespace shardmark::comm
