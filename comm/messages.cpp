// SPDX-License-Identifier: Apache-2.0
#include "comm/messages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comm/mpi_error.hpp"
#include "comm/waiting.hpp"

namespace shardmark {
namespace {

constexpr int tag = 0;  // pieces of one pair arrive in the order they were sent

/// Of an argument that MPI does not write to.
std::byte* writable(std::span<const std::byte> bytes) { return const_cast<std::byte*>(bytes.data()); }

}  // namespace

std::size_t MessageList::add(std::byte* bytes, std::size_t size, int peer, bool received) {
  const std::size_t first = pieces_.size();
  const auto limit = static_cast<std::size_t>(comm_->count_limit());
  for (std::size_t begin = 0; begin < size; begin += limit)
    pieces_.push_back({bytes + begin, static_cast<int>(std::min(limit, size - begin)), peer, received});
  requests_.resize(pieces_.size(), MPI_REQUEST_NULL);
  return first;
}

void MessageList::complete() {
  statuses_.resize(requests_.size());
  const int code = wait_all(requests_, statuses_.data());
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const auto& piece = pieces_[i];
    if (code == MPI_ERR_IN_STATUS && statuses_[i].MPI_ERROR != MPI_ERR_PENDING)
      check_mpi(statuses_[i].MPI_ERROR, "MPI_Waitall", piece.peer, piece.count);
    int received = piece.count;
    if (code == MPI_SUCCESS && piece.received) MPI_Get_count(&statuses_[i], MPI_BYTE, &received);
    if (received != piece.count)
      throw MpiError("MPI_Waitall", fmt::format("only {} bytes came", received), piece.peer, piece.count);
  }
  check_mpi(code, "MPI_Waitall");
}

void Messages::send(std::span<const std::byte> bytes, int peer) {
  sent_[peer] += std::ssize(bytes);
  for (std::size_t i = add(writable(bytes), bytes.size(), peer, false); i < pieces_.size(); ++i)
    check_mpi(MPI_Isend(pieces_[i].bytes, pieces_[i].count, MPI_BYTE, peer, tag, comm_->get(), &requests_[i]),
              "MPI_Isend", peer, pieces_[i].count);
}

void Messages::receive(std::span<std::byte> bytes, int peer) {
  for (std::size_t i = add(bytes.data(), bytes.size(), peer, true); i < pieces_.size(); ++i)
    check_mpi(MPI_Irecv(pieces_[i].bytes, pieces_[i].count, MPI_BYTE, peer, tag, comm_->get(), &requests_[i]),
              "MPI_Irecv", peer, pieces_[i].count);
}

void Messages::wait() {
  complete();
  pieces_.clear();
  requests_.clear();
}

void Messages::progress() const {
  int found = 0;
  check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_->get(), &found, MPI_STATUS_IGNORE), "MPI_Iprobe");
}

PersistentMessages::~PersistentMessages() { clear(); }

void PersistentMessages::send(std::span<const std::byte> bytes, int peer) {
  for (std::size_t i = add(writable(bytes), bytes.size(), peer, false); i < pieces_.size(); ++i)
    check_mpi(MPI_Send_init(pieces_[i].bytes, pieces_[i].count, MPI_BYTE, peer, tag, comm_->get(), &requests_[i]),
              "MPI_Send_init", peer, pieces_[i].count);
}

void PersistentMessages::receive(std::span<std::byte> bytes, int peer) {
  for (std::size_t i = add(bytes.data(), bytes.size(), peer, true); i < pieces_.size(); ++i)
    check_mpi(MPI_Recv_init(pieces_[i].bytes, pieces_[i].count, MPI_BYTE, peer, tag, comm_->get(), &requests_[i]),
              "MPI_Recv_init", peer, pieces_[i].count);
}

void PersistentMessages::start() {
  if (requests_.empty()) return;  // Open MPI refuses a null array
  check_mpi(MPI_Startall(static_cast<int>(requests_.size()), requests_.data()), "MPI_Startall");
}

void PersistentMessages::clear() {
  for (MPI_Request& request : requests_)
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  pieces_.clear();
  requests_.clear();
}

}  // namespace shardmark
