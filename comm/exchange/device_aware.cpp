// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/device_aware.hpp"

#include <mpi.h>

#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include "comm/collectives.hpp"
#include "comm/device_memory.hpp"

namespace shardmark::comm {
namespace {

bool mpi_reads_gpus() {
#ifdef MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

}  // namespace

std::string DeviceAware::unusable(const Communicator& comm) {
  if (std::string reason = no_gpus(comm); !reason.empty()) return reason;
  if (all_reduce(comm, mpi_reads_gpus() ? 1 : 0, Reduce::min) == 1) return {};
  return "this MPI does not say that it reads the memory of GPUs (MPIX_Query_cuda_support)";
}

void DeviceAware::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  select_gpu(comm_);
  MpiAlltoallv::run(route, send, receive, element_bytes);
}

}  // namespace shardmark::comm
