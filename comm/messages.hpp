// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark {

/// Nonblocking messages of any size between pairs of ranks. A message above the communicator's count limit goes in
/// pieces; an empty one is not sent. Both ends must know the size. Reuse an object to keep its storage.
class Messages {
 public:
  explicit Messages(const Communicator& comm) : comm_(&comm) {}

  /// The buffers must stay until wait().
  void send(std::span<const std::byte> bytes, int peer);
  void receive(std::span<std::byte> bytes, int peer);

  /// Completes everything started. Throws MpiError, naming the peer, when a message fails or is shorter than its
  /// buffer.
  void wait();

 private:
  struct Piece {
    int peer;
    int bytes;
    bool received;
  };

  const Communicator* comm_;
  std::vector<Piece> pieces_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace shardmark
