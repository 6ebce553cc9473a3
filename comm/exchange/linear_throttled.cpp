// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/linear_throttled.hpp"

#include <algorithm>

#include "comm/exchange/blocks.hpp"

namespace shardmark::comm {

LinearThrottled::LinearThrottled(const Communicator& comm, int window)
    : comm_(comm), window_(std::min(window, comm.size()), Messages(comm)) {}

void LinearThrottled::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
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

}  // namespace shardmark::comm
