// SPDX-License-Identifier: Apache-2.0
// The part of emulated_cuda.cpp that stands in for an MPI that reads the memory of GPUs: in MPI_Alltoallv and in
// messages, as Open MPI does, and not in collectives that do not block. And MPI takes calls of several threads, as
// NCCL's messages (emulated_nccl.cpp) are MPI's, which the program does not know of.
#include <mpi.h>

#include <algorithm>
#include <map>
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

/// Returns where MPI can touch the bytes while the result lives; null where they are not for GPUs.
std::shared_ptr<std::byte> seen(const void* at, std::size_t bytes) {
  const std::lock_guard turn(emulated_turn());
  return seen_by_emulated_gpu(current_emulated_gpu(), at, bytes);
}

/// Has what messages under way may touch.
std::multimap<MPI_Request, std::shared_ptr<std::byte>>& under_way() {
  static auto* const all = new std::multimap<MPI_Request, std::shared_ptr<std::byte>>;
  return *all;
}

/// Calls start(where MPI finds the bytes) for a message.
template <class Start>
int begin_message(const void* at, int count, MPI_Datatype type, MPI_Request* request, const Start& start) {
  if (!emulated_mpi_reads_gpus) return start(const_cast<void*>(at));
  int width = 0;
  MPI_Type_size(type, &width);
  const auto bytes = seen(at, static_cast<std::size_t>(count) * width);
  const int code = start(bytes == nullptr ? const_cast<void*>(at) : bytes.get());
  const std::lock_guard turn(emulated_turn());
  if (bytes != nullptr) under_way().emplace(*request, bytes);
  return code;
}

void end_messages(const std::vector<MPI_Request>& requests) {
  const std::lock_guard turn(emulated_turn());
  for (const MPI_Request request : requests) under_way().erase(request);
}

}  // namespace
}  // namespace shardmark::comm

using namespace shardmark::comm;

bool shardmark::comm::emulated_mpi_reads_gpus = false;

static int threads_given = MPI_THREAD_SINGLE;

int MPI_Init_thread(int* count, char*** words, int wanted, int* given) {
  const int code = PMPI_Init_thread(count, words, MPI_THREAD_MULTIPLE, given);
  *given = threads_given = std::min(wanted, *given);
  return code;
}

int MPI_Query_thread(int* given) {
  *given = threads_given;
  return MPI_SUCCESS;
}

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
  const auto from = seen(send, bytes_of_blocks(send_counts, send_offsets, send_type, comm));
  const auto to = seen(receive, bytes_of_blocks(receive_counts, receive_offsets, receive_type, comm));
  return call(from == nullptr ? send : from.get(), to == nullptr ? receive : to.get());
}

int MPI_Isend(const void* from, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  return begin_message(from, count, type, request,
                       [&](const void* at) { return PMPI_Isend(at, count, type, peer, tag, comm, request); });
}

int MPI_Irecv(void* to, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  return begin_message(to, count, type, request,
                       [&](void* at) { return PMPI_Irecv(at, count, type, peer, tag, comm, request); });
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  const std::vector<MPI_Request> all(requests, requests + count);
  const int code = PMPI_Waitall(count, requests, statuses);
  end_messages(all);
  return code;
}

int MPI_Testall(int count, MPI_Request* requests, int* done, MPI_Status* statuses) {
  const std::vector<MPI_Request> all(requests, requests + count);
  const int code = PMPI_Testall(count, requests, done, statuses);
  if (*done != 0) end_messages(all);
  return code;
}
