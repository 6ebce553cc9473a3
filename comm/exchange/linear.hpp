// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/blocks.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/messages.hpp"

namespace shardmark::comm {

/// Starts all receives, then all sends, then waits once. A rank starts with its neighbour, so that not all of them
/// begin with rank 0. Skew costs no more than the busiest rank; the network carries P(P-1) messages at once.
class Linear : public Exchange {
 public:
  explicit Linear(const Communicator& comm) : comm_(comm), messages_(comm) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override {
    const Blocks blocks(comm_, route, send, receive, element_bytes);
    for (int distance = 1; distance < comm_.size(); ++distance) {
      const int source = rank_before(comm_, distance);
      messages_.receive(blocks.from(source), source);
    }
    for (int distance = 1; distance < comm_.size(); ++distance) {
      const int target = rank_after(comm_, distance);
      messages_.send(blocks.to(target), target);
    }
    blocks.copy_own(comm_.rank());
    messages_.wait();
  }

 private:
  const Communicator& comm_;
  Messages messages_;
};

}  // namespace shardmark::comm
