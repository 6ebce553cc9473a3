// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/pairwise.hpp"

#include <cstring>
#include <stdexcept>

namespace shardmark {

Pairwise::Pairwise(const Communicator& comm) : comm_(comm), messages_(comm) {}

void Pairwise::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  if (route.size() != comm_.size()) throw std::invalid_argument("pairwise: a route of another number of ranks");
  const auto outgoing = [&](int peer) {
    const auto p = static_cast<std::size_t>(peer);
    return std::span(send + route.send_offsets()[p] * element_bytes,
                     static_cast<std::size_t>(route.send_counts()[p] * element_bytes));
  };
  const auto incoming = [&](int peer) {
    const auto p = static_cast<std::size_t>(peer);
    return std::span(receive + route.receive_offsets()[p] * element_bytes,
                     static_cast<std::size_t>(route.receive_counts()[p] * element_bytes));
  };
  const int rank = comm_.rank();
  const int ranks = comm_.size();
  if (const auto own = outgoing(rank); !own.empty()) std::memcpy(incoming(rank).data(), own.data(), own.size());
  for (int round = 1; round < ranks; ++round) {
    messages_.receive(incoming((rank - round + ranks) % ranks), (rank - round + ranks) % ranks);
    messages_.send(outgoing((rank + round) % ranks), (rank + round) % ranks);
    messages_.wait();
  }
}

}  // namespace shardmark
