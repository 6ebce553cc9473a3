// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/device_memory.hpp"
#include "comm/exchange/mpi_alltoallv.hpp"

namespace shardmark::comm {

/// Carries GPU memory by way of pinned host buffers, which are kept, and MPI_Alltoallv: it is for an MPI that cannot
/// read GPUs. Host memory goes to MPI as it is. Ranks may share a GPU.
class HostStaged : public Exchange {
 public:
  static std::string unusable(const Communicator& comm) { return no_gpus(comm); }

  explicit HostStaged(const Communicator& comm) : comm_(comm), mpi_(comm) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;

 private:
  const Communicator& comm_;
  MpiAlltoallv mpi_;
  KeptMemory to_send_{KeptMemory::Place::pinned_host};
  KeptMemory received_{KeptMemory::Place::pinned_host};
};

}  // namespace shardmark::comm
