// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include "comm/collectives.hpp"
#include "comm/device_memory.hpp"
#include "comm/exchange/mpi_alltoallv.hpp"

namespace shardmark::comm {

/// Runs MPI_Alltoallv on pointers to GPU memory, for an MPI that reads and writes it itself (CUDA-aware).
class DeviceAware : public MpiAlltoallv {
 public:
  /// Gives a reason where ranks lack GPUs, or MPI does not report that it can (MPIX_Query_cuda_support).
  static std::string unusable(const Communicator& comm) {
    if (std::string reason = no_gpus(comm); !reason.empty()) return reason;
    if (all_reduce(comm, mpi_reads_gpus() ? 1 : 0, Reduce::min) == 1) return {};
    return "this MPI does not say that it reads the memory of GPUs (MPIX_Query_cuda_support)";
  }

  explicit DeviceAware(const Communicator& comm) : MpiAlltoallv(comm) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override {
    select_gpu(comm_);
    MpiAlltoallv::run(route, send, receive, element_bytes);
  }
  bool reads_gpus() const override { return true; }

 private:
  static bool mpi_reads_gpus() {
#ifdef MPIX_CUDA_AWARE_SUPPORT
    return MPIX_Query_cuda_support() == 1;
#else
    return false;
#endif
  }
};

}  // namespace shardmark::comm
