// SPDX-License-Identifier: Apache-2.0
#include "comm/messages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comm/mpi_error.hpp"

namespace shardmark {
namespace {

constexpr int tag = 0;  // pieces of one pair arrive in the order they were sent

}  // namespace

void Messages::send(std::span<const std::byte> bytes, int peer) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(comm_->count_limit())));
    const int count = static_cast<int>(piece.size());
    pieces_.push_back({peer, count, false});
    check_mpi(MPI_Isend(piece.data(), count, MPI_BYTE, peer, tag, comm_->get(), &requests_.emplace_back()), "MPI_Isend",
              peer, count);
    bytes = bytes.subspan(piece.size());
  }
}

void Messages::receive(std::span<std::byte> bytes, int peer) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(comm_->count_limit())));
    const int count = static_cast<int>(piece.size());
    pieces_.push_back({peer, count, true});
    check_mpi(MPI_Irecv(piece.data(), count, MPI_BYTE, peer, tag, comm_->get(), &requests_.emplace_back()), "MPI_Irecv",
              peer, count);
    bytes = bytes.subspan(piece.size());
  }
}

void Messages::wait() {
  statuses_.resize(requests_.size());
  const int code = MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), statuses_.data());
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const auto& piece = pieces_[i];
    if (code == MPI_ERR_IN_STATUS && statuses_[i].MPI_ERROR != MPI_ERR_PENDING)
      check_mpi(statuses_[i].MPI_ERROR, "MPI_Waitall", piece.peer, piece.bytes);
    int received = piece.bytes;
    if (code == MPI_SUCCESS && piece.received) MPI_Get_count(&statuses_[i], MPI_BYTE, &received);
    if (received != piece.bytes)
      throw MpiError("MPI_Waitall", fmt::format("only {} bytes came", received), piece.peer, piece.bytes);
  }
  check_mpi(code, "MPI_Waitall");
  pieces_.clear();
  requests_.clear();
}

}  // namespace shardmark
