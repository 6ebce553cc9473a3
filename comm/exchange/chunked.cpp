// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/chunked.hpp"

#include <cstring>

#include "comm/exchange/blocks.hpp"

namespace shardmark::comm {
namespace {

/// Holds elements [begin, begin + count) of a buffer: chunk `chunk` of `chunks` of what is for or from a peer.
struct Part {
  std::int64_t begin;
  std::int64_t count;

  Part(const std::vector<std::int64_t>& offsets, const std::vector<std::int64_t>& counts, int peer, std::int64_t chunk,
       std::int64_t chunks) {
    const auto before = [&](std::int64_t c) { return counts[peer] / chunks * c + counts[peer] % chunks * c / chunks; };
    begin = offsets[peer] + before(chunk);
    count = before(chunk + 1) - before(chunk);
  }

  template <class Byte>
  std::span<Byte> of(Byte* buffer, std::int64_t element_bytes) const {
    return std::span(buffer + begin * element_bytes, count * element_bytes);
  }
};

}  // namespace

void Chunked::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  const Blocks blocks(comm_, route, send, receive, element_bytes);
  const std::size_t chunks = messages_.size();
  const auto out = [&](int peer, std::size_t c) {
    return Part(route.send_offsets(), route.send_counts(), peer, c, chunks);
  };
  const auto in = [&](int peer, std::size_t c) {
    return Part(route.receive_offsets(), route.receive_counts(), peer, c, chunks);
  };
  for (std::size_t c = 0; c < chunks; ++c)
    for (int distance = 1; distance < comm_.size(); ++distance) {
      const int source = rank_before(comm_, distance);
      messages_[c].receive(in(source, c).of(receive, element_bytes), source);
    }
  for (std::size_t c = 0; c < chunks; ++c) {
    for (int distance = 0; distance < comm_.size(); ++distance) {
      const int target = rank_after(comm_, distance);
      const Part part = out(target, c);
      if (part.count == 0) continue;
      const auto bytes = part.of(send, element_bytes);
      if (distance == 0)
        std::memcpy(in(target, c).of(receive, element_bytes).data(), bytes.data(), bytes.size());
      else
        messages_[c].send(bytes, target);
    }
    if (c > 0) messages_[c - 1].wait();
  }
  messages_[chunks - 1].wait();
}

}  // namespace shardmark::comm
