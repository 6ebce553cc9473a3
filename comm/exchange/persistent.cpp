// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/persistent.hpp"

#include <algorithm>

namespace shardmark::comm {
namespace {

constexpr std::size_t most_kept = 16;

void set_up(const Communicator& comm, const Blocks& blocks, PersistentMessages& messages) {
  for (int distance = 1; distance < comm.size(); ++distance) {
    const int source = rank_before(comm, distance);
    messages.receive(blocks.from(source), source);
  }
  for (int distance = 1; distance < comm.size(); ++distance) {
    const int target = rank_after(comm, distance);
    messages.send(blocks.to(target), target);
  }
}

}  // namespace

void Persistent::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  const Blocks blocks(comm_, route, send, receive, element_bytes);
  PersistentMessages& messages = messages_of({route.id(), element_bytes, send, receive}, blocks);
  messages.start();
  blocks.copy_own(comm_.rank());
  messages.wait();
}

PersistentMessages& Persistent::messages_of(const Key& key, const Blocks& blocks) {
  for (Kept& kept : kept_)
    if (kept.key == key) return kept.messages;
  if (kept_.size() < most_kept) kept_.push_back({{}, PersistentMessages(comm_)});
  Kept& kept = kept_[oldest_++ % most_kept];
  kept.key = {};
  kept.messages.clear();
  set_up(comm_, blocks, kept.messages);
  kept.key = key;
  return kept.messages;
}

}  // namespace shardmark::comm
