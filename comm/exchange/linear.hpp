// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/exchange.hpp"
#include "comm/messages.hpp"

namespace shardmark::comm {

/// Starts all receives, then all sends, then waits once. A rank starts with its neighbour, so that not all of them
/// begin with rank 0. Skew costs no more than the busiest rank; the network carries P(P-1) messages at once.
class Linear : public Exchange {
 public:
  explicit Linear(const Communicator& comm) : comm_(comm), messages_(comm) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;

 private:
  const Communicator& comm_;
  Messages messages_;
};

}  // namespace shardmark::comm
