// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include "comm/communicator.hpp"
#include "comm/route.hpp"

namespace shardmark::comm {

/// Cuts the bytes of one run of an exchange into blocks by peer.
class Blocks {
 public:
  /// Throws std::invalid_argument for a route of another number of ranks.
  Blocks(const Communicator& comm, const Route& route, const std::byte* send, std::byte* receive,
         std::int64_t element_bytes)
      : route_(route), send_(send), receive_(receive), element_bytes_(element_bytes) {
    if (route.size() != comm.size())
      throw std::invalid_argument("exchange: a route of " + std::to_string(route.size()) + " ranks, not " +
                                  std::to_string(comm.size()));
  }

  std::span<const std::byte> to(int peer) const {
    return std::span(send_ + route_.send_offsets()[peer] * element_bytes_, route_.send_counts()[peer] * element_bytes_);
  }

  std::span<std::byte> from(int peer) const {
    return std::span(receive_ + route_.receive_offsets()[peer] * element_bytes_,
                     route_.receive_counts()[peer] * element_bytes_);
  }

  /// Copies the block that `rank`, the rank that runs, sends to itself.
  void copy_own(int rank) const {
    if (const auto own = to(rank); !own.empty()) std::memcpy(from(rank).data(), own.data(), own.size());
  }

 private:
  const Route& route_;
  const std::byte* send_;
  std::byte* receive_;
  std::int64_t element_bytes_;
};

/// Returns the rank `distance` (0 to size) after this one, and rank_before() the one before it, modulo the size.
inline int rank_after(const Communicator& comm, int distance) { return (comm.rank() + distance) % comm.size(); }
inline int rank_before(const Communicator& comm, int distance) {
  return (comm.rank() - distance + comm.size()) % comm.size();
}

}  // namespace shardmark::comm
