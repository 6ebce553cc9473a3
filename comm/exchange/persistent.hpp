// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "comm/exchange/blocks.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/messages.hpp"

namespace shardmark::comm {

/// Sends the messages of Linear as persistent requests (MPI_Send_init, MPI_Recv_init), set up once and started in every
/// run with the same route, element size and buffers. The last 16 sets are kept; to set one up is local and sends
/// nothing.
class Persistent : public Exchange {
 public:
  explicit Persistent(const Communicator& comm) : comm_(comm) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;

 private:
  struct Key {
    std::uint64_t route;
    std::int64_t element_bytes;
    const std::byte* send;
    const std::byte* receive;
    bool operator==(const Key&) const = default;
  };
  struct Kept {
    Key key;
    PersistentMessages messages;
  };

  PersistentMessages& messages_of(const Key& key, const Blocks& blocks);

  const Communicator& comm_;
  std::vector<Kept> kept_;
  std::size_t oldest_ = 0;
};

}  // namespace shardmark::comm
