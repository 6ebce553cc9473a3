// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/pairwise.hpp"

#include "comm/exchange/blocks.hpp"

namespace shardmark::comm {

void Pairwise::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
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

}  // namespace shardmark::comm
