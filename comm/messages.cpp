// SPDX-License-Identifier: Apache-2.0
#include "comm/messages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comm/mpi_error.hpp"
#include "comm/waiting.hpp"

namespace shardmark::comm {
namespace {

constexpr int tag = 0;  // pieces of one pair arrive in the order they were sent

}  // namespace

template <class Call>
void MessageList::add(std::span<const std::byte> bytes, int peer, bool received, Call call, const char* name) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min<std::size_t>(bytes.size(), comm_->count_limit()));
    const int count = static_cast<int>(piece.size());
    pieces_.push_back({count, peer, received});
    requests_.push_back(MPI_REQUEST_NULL);
    // Sends do not write; receive() was given memory that may be written.
    check_mpi(call(const_cast<std::byte*>(piece.data()), count, MPI_BYTE, peer, tag, comm_->get(), &requests_.back()),
              name, peer, count);
    bytes = bytes.subspan(piece.size());
  }
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
  add(bytes, peer, false, MPI_Isend, "MPI_Isend");
  sent_[peer] += std::ssize(bytes);  // after it: there may be no such rank
}

void Messages::receive(std::span<std::byte> bytes, int peer) { add(bytes, peer, true, MPI_Irecv, "MPI_Irecv"); }

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
  add(bytes, peer, false, MPI_Send_init, "MPI_Send_init");
}

void PersistentMessages::receive(std::span<std::byte> bytes, int peer) {
  add(bytes, peer, true, MPI_Recv_init, "MPI_Recv_init");
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

}  // namespace shardmark::comm
