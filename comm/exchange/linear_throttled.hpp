// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "comm/exchange/blocks.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/messages.hpp"

namespace shardmark::comm {

/// Sends the messages of Linear to and from at most `window` partners at a time, in the order of their distance: the
/// next one is started when the one `window` before it is complete in both directions. 1 is pairwise, P-1 is linear. It
/// cannot deadlock: the nearest distance that some rank has not completed is within every rank's window.
class LinearThrottled : public Exchange {
 public:
  LinearThrottled(const Communicator& comm, int window)
      : comm_(comm), window_(std::min(window, comm.size()), Messages(comm)) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override {
    const Blocks blocks(comm_, route, send, receive, element_bytes);
    for (int distance = 1; distance < comm_.size(); ++distance) {
      Messages& messages = window_[distance % window_.size()];
      messages.wait();
      const int source = rank_before(comm_, distance);
      const int target = rank_after(comm_, distance);
      messages.receive(blocks.from(source), source);
      messages.send(blocks.to(target), target);
    }
    blocks.copy_own(comm_.rank());
    for (Messages& messages : window_) messages.wait();
  }

 private:
  const Communicator& comm_;
  std::vector<Messages> window_;
};

}  // namespace shardmark::comm
