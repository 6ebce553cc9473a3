// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/exchange/exchange.hpp"
#include "comm/messages.hpp"

namespace shardmark::comm {

/// Sends the messages of Linear to and from at most `window` partners at a time, in the order of their distance: the
/// next one is started when the one `window` before it is complete in both directions. 1 is pairwise, P-1 is linear. It
/// cannot deadlock: the nearest distance that some rank has not completed is within every rank's window.
class LinearThrottled : public Exchange {
 public:
  LinearThrottled(const Communicator& comm, int window);

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;

 private:
  const Communicator& comm_;
  std::vector<Messages> window_;
};

}  // namespace shardmark::comm
