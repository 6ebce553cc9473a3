// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark::comm {

/// Holds the requests of messages of any size between pairs of ranks. A message that is larger than the communicator's
/// count limit goes in pieces, and an empty one is not sent; so both ends must know the size.
class MessageList {
 public:
  explicit MessageList(const Communicator& comm) : comm_(&comm) {}

 protected:
  struct Piece {
    int count;
    int peer;
    bool received;
  };

  /// Makes `call` (MPI_Isend, MPI_Recv_init, ...), whose name is `name`, for each piece of a message, and keeps the
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

/// Starts and completes messages that are each sent once and do not block: start several, then wait() for all. An
/// object that is used again allocates nothing. It counts the bytes that it sends.
class Messages : public MessageList {
 public:
  explicit Messages(const Communicator& comm) : MessageList(comm), sent_(comm.size()) {}

  /// Starts a send; receive() starts a receive. The buffers must stay until wait().
  void send(std::span<const std::byte> bytes, int peer);
  void receive(std::span<std::byte> bytes, int peer);

  /// Completes all messages that were started.
  void wait();

  /// Lets MPI make progress on the messages that were started.
  void progress() const;

  /// Returns the bytes sent to each rank since count_anew().
  const std::vector<std::int64_t>& sent() const { return sent_; }
  void count_anew() { sent_.assign(sent_.size(), 0); }

 private:
  std::vector<std::int64_t> sent_;
};

/// Keeps messages that are set up once and then started any number of times, between the same buffers.
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
  /// Frees all requests, so that the object holds no message.
  void clear();
};

}  // namespace shardmark::comm
