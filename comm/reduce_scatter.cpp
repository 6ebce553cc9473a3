// SPDX-License-Identifier: Apache-2.0
#include "comm/reduce_scatter.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "comm/mpi_error.hpp"

namespace shardmark::comm {
namespace {

void reduce_to(const Communicator& comm, std::span<const float> part, std::span<float> sums, int root) {
  while (!part.empty()) {
    const auto piece = part.first(std::min<std::size_t>(part.size(), comm.count_limit()));
    float* target = comm.rank() == root ? sums.data() + (sums.size() - part.size()) : nullptr;
    check_mpi(MPI_Reduce(piece.data(), target, static_cast<int>(piece.size()), MPI_FLOAT, MPI_SUM, root, comm.get()),
              "MPI_Reduce", root, piece.size_bytes());
    part = part.subspan(piece.size());
  }
}

}  // namespace

void reduce_scatter(const Communicator& comm, std::span<const float> send, std::span<const std::int64_t> counts,
                    std::span<float> receive) {
  const auto offsets = exclusive_scan(counts);
  const std::int64_t own = counts[comm.rank()];
  if (std::ssize(send) < offsets.back() || std::ssize(receive) < own)
    throw std::invalid_argument("reduce_scatter: a buffer is smaller than the counts");
  if (offsets.back() <= comm.count_limit()) {
    const std::vector<int> int_counts(counts.begin(), counts.end());
    check_mpi(MPI_Reduce_scatter(send.data(), receive.data(), int_counts.data(), MPI_FLOAT, MPI_SUM, comm.get()),
              "MPI_Reduce_scatter", -1, offsets.back() * static_cast<std::int64_t>(sizeof(float)));
    return;
  }
  for (int rank = 0; rank < comm.size(); ++rank)
    reduce_to(comm, send.subspan(offsets[rank], counts[rank]), receive.first(own), rank);
}

}  // namespace shardmark::comm
