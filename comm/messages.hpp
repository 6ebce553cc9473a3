// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark::comm {

/// Messages of any size between pairs of ranks. One that is larger than the communicator's count limit goes in pieces,
/// an empty one is not sent; so both ends must know the size.
class MessageList {
 public:
  explicit MessageList(const Communicator& comm) : comm_(&comm) {}

 protected:
  struct Piece {
    int count;
    int peer;
    bool received;
  };

  /// Makes `call` (MPI_Isend, MPI_Recv_init, ...), which is named `name`, for each piece of a message, and keeps the
  /// requests.
  template <class Call>
  void add(std::span<const std::byte> bytes, int peer, bool received, Call call, const char* name);
  /// Completes all requests. Throws MpiError, naming the peer, when a message fails or is shorter than its buffer.
  void complete();

  const Communicator* comm_;
  std::vector<Piece> pieces_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
};

/// Messages that are each sent once and do not block: start several, then wait() for all. An object that is used again
/// allocates nothing. It counts what it sends.
class Messages : public MessageList {
 public:
  explicit Messages(const Communicator& comm) : MessageList(comm), sent_(comm.size()) {}

  /// The buffers must stay until wait().
  void send(std::span<const std::byte> bytes, int peer);
  void receive(std::span<std::byte> bytes, int peer);

  /// Completes everything started.
  void wait();

  /// Gives MPI a chance to move what was started.
  void progress() const;

  /// Bytes sent to each rank since count_anew().
  const std::vector<std::int64_t>& sent() const { return sent_; }
  void count_anew() { sent_.assign(sent_.size(), 0); }

 private:
  std::vector<std::int64_t> sent_;
};

/// Messages that are set up once and carried again and again, between the same buffers.
class PersistentMessages : public MessageList {
 public:
  using MessageList::MessageList;
  PersistentMessages(PersistentMessages&&) = default;
  PersistentMessages& operator=(PersistentMessages&&) = delete;
  ~PersistentMessages();

  void send(std::span<const std::byte> bytes, int peer);
  void receive(std::span<std::byte> bytes, int peer);

  void start();
  void wait() { complete(); }
  /// Forgets all messages.
  void clear();
};

}  // namespace shardmark::comm
