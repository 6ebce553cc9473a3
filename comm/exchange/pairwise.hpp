// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/blocks.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/messages.hpp"

namespace shardmark::comm {

/// Exchanges in P-1 rounds: in round k a rank sends to rank+k and receives from rank-k (modulo P), and waits for both.
/// It has one partner in each direction at a time, so that even traffic meets no congestion; under skew the slowest
/// pairs of the rounds add up.
class Pairwise : public Exchange {
 public:
  explicit Pairwise(const Communicator& comm) : comm_(comm), messages_(comm) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override {
    const Blocks blocks(comm_, route, send, receive, element_bytes);
    blocks.copy_own(comm_.rank());
    for (int distance = 1; distance < comm_.size(); ++distance) {
      const int source = rank_before(comm_, distance);
      const int target = rank_after(comm_, distance);
      messages_.receive(blocks.from(source), source);
      messages_.send(blocks.to(target), target);
      messages_.wait();
    }
  }

 private:
  const Communicator& comm_;
  Messages messages_;
};

}  // namespace shardmark::comm
