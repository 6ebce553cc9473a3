// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/mpi_alltoallv.hpp"

namespace shardmark::comm {

/// Runs MPI_Alltoallv on pointers to GPU memory, for an MPI that reads and writes it itself (CUDA-aware).
class DeviceAware : public MpiAlltoallv {
 public:
  /// Gives a reason where ranks lack GPUs, or MPI does not report that it can (MPIX_Query_cuda_support).
  static std::string unusable(const Communicator& comm);

  explicit DeviceAware(const Communicator& comm) : MpiAlltoallv(comm) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;
  bool reads_gpus() const override { return true; }
};

}  // namespace shardmark::comm
