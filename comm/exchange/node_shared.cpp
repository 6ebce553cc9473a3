// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/node_shared.hpp"

#include "comm/waiting.hpp"

namespace shardmark::comm {

void NodeShared::start_messages(const Blocks& blocks) {
  const auto other_node = [&](int peer) { return comm_.node_of(peer) != comm_.node_of(comm_.rank()); };
  for (int distance = 1; distance < comm_.size(); ++distance)
    if (const int source = rank_before(comm_, distance); other_node(source))
      messages_.receive(blocks.from(source), source);
  for (int distance = 1; distance < comm_.size(); ++distance)
    if (const int target = rank_after(comm_, distance); other_node(target)) messages_.send(blocks.to(target), target);
}

void NodeShared::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  const Blocks blocks(comm_, route, send, receive, element_bytes);
  start_messages(blocks);
  const std::vector<int>& neighbours = comm_.ranks_of(comm_.node_of(comm_.rank()));
  for (auto& end : channels_.out()) end.bytes = blocks.to(neighbours[end.number]);
  for (auto& end : channels_.in()) end.bytes = blocks.from(neighbours[end.number]);
  channels_.fill_slots();  // so that the others have something to do meanwhile
  blocks.copy_own(comm_.rank());
  while (!channels_.all_passed()) {
    const bool filled = channels_.fill_slots(), emptied = channels_.empty_slots();
    if (filled || emptied) continue;
    messages_.progress();
    wait_a_moment();
  }
  messages_.wait();
}

}  // namespace shardmark::comm
