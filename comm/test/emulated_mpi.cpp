// SPDX-License-Identifier: Apache-2.0
// The part of emulated_cuda.cpp that stands in for an MPI that reads the memory of GPUs: MPI_Alltoallv on copies.
#include <mpi.h>

#include <algorithm>
#include <vector>

#include "comm/test/emulated_cuda.hpp"

namespace shardmark::comm {
namespace {

std::size_t bytes_of_blocks(const int* counts, const int* offsets, MPI_Datatype type, MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  MPI_Aint begin = 0, width = 0;
  MPI_Type_get_extent(type, &begin, &width);
  std::size_t end = 0;
  for (int rank = 0; rank < size; ++rank)
    end = std::max(end, static_cast<std::size_t>(width) * (static_cast<std::size_t>(offsets[rank]) + counts[rank]));
  return end;
}

}  // namespace
}  // namespace shardmark::comm

using namespace shardmark::comm;

bool shardmark::comm::emulated_mpi_reads_gpus = false;

extern "C" int MPIX_Query_cuda_support() {
  emulated_mpi_reads_gpus = true;
  return 1;
}

int MPI_Alltoallv(const void* send, const int* send_counts, const int* send_offsets, MPI_Datatype send_type,
                  void* receive, const int* receive_counts, const int* receive_offsets, MPI_Datatype receive_type,
                  MPI_Comm comm) {
  const auto call = [&](const void* from, void* to) {
    return PMPI_Alltoallv(from, send_counts, send_offsets, send_type, to, receive_counts, receive_offsets, receive_type,
                          comm);
  };
  if (!emulated_mpi_reads_gpus) return call(send, receive);
  const std::size_t sent = bytes_of_blocks(send_counts, send_offsets, send_type, comm);
  const std::size_t received = bytes_of_blocks(receive_counts, receive_offsets, receive_type, comm);
  const int gpu = current_emulated_gpu();
  const auto seen = [gpu](const void* at, std::size_t bytes) {
    const std::lock_guard turn(emulated_turn());
    return seen_by_emulated_gpu(gpu, at, bytes);
  };
  const auto from = seen(send, sent), to = seen(receive, received);
  return call(from == nullptr ? send : from.get(), to == nullptr ? receive : to.get());
}
