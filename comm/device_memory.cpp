// SPDX-License-Identifier: Apache-2.0
#include "comm/device_memory.hpp"

#include "comm/mpi_error.hpp"
#include "reference/error.hpp"

#ifdef SHARDMARK_WITH_CUDA

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"

namespace shardmark::comm {
namespace {

std::string cuda_version(int version) { return fmt::format("{}.{}", version / 1000, version / 10 % 100); }

/// Returns why this rank has no GPU that it can use; empty where it has one.
std::string no_gpu() {
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return {};
  if (error == cudaErrorInsufficientDriver) {
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0) return "has no CUDA driver; start the program where there is a GPU, or install its driver";
    return fmt::format("has a driver for CUDA {}, and the program is of CUDA {}; update the driver",
                       cuda_version(driver), cuda_version(runtime));
  }
  if (error != cudaSuccess && error != cudaErrorNoDevice)
    return fmt::format("cannot use its GPUs (cudaGetDeviceCount: {}); nvidia-smi shows their state",
                       cudaGetErrorString(error));
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return fmt::format("sees no GPU{}; ask the launcher for one, as srun --gpus-per-task=1 does",
                     visible == nullptr ? "" : fmt::format(" (CUDA_VISIBLE_DEVICES={})", visible));
}

std::string bus_address(const cudaDeviceProp& properties) {
  return fmt::format("{:04x}:{:02x}:{:02x}", properties.pciDomainID, properties.pciBusID, properties.pciDeviceID);
}

/// Holds what is the same on all ranks that have the same GPU, and its address on the host's bus.
struct GpuIdentity {
  cudaUUID_t uuid;
  char address[16] = {};

  bool operator==(const GpuIdentity& other) const {
    return std::memcmp(uuid.bytes, other.uuid.bytes, sizeof uuid.bytes) == 0;
  }
};

GpuIdentity own_gpu(const Communicator& comm) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, gpu_of_rank(comm)), "cudaGetDeviceProperties");
  GpuIdentity gpu{.uuid = properties.uuid};
  bus_address(properties).copy(gpu.address, sizeof gpu.address - 1);
  return gpu;
}

/// Returns the GPUs that the ranks take. Collective.
std::vector<GpuIdentity> gpus_of_ranks(const Communicator& comm) {
  return all_gather(comm, agree(comm, [&] { return own_gpu(comm); }));
}

/// Returns the error of an allocation, with what there is where there is too little.
std::string allocation_error(cudaError_t error) {
  std::size_t free = 0, total = 0;
  if (error != cudaErrorMemoryAllocation || cudaMemGetInfo(&free, &total) != cudaSuccess)
    return cudaGetErrorString(error);
  return fmt::format("out of memory: of its {} bytes the GPU has {} left; take a smaller batch, or more ranks", total,
                     free);
}

}  // namespace

std::string no_gpus(const Communicator& comm) {
  const auto reasons = all_gather(comm, no_gpu());
  for (int rank = 0; rank < comm.size(); ++rank)
    if (!reasons[rank].empty()) return fmt::format("rank {} ({}) {}", rank, comm.host_of(rank), reasons[rank]);
  return {};
}

std::string no_own_gpus(const Communicator& comm) {
  if (std::string reason = no_gpus(comm); !reason.empty()) return reason;
  const auto gpus = gpus_of_ranks(comm);
  for (int rank = 0; rank < comm.size(); ++rank)
    for (int other = 0; other < rank; ++other)
      if (gpus[other] == gpus[rank])
        return fmt::format("ranks {} and {} share GPU {} of {}; start one rank a GPU, or choose exchange host_staged",
                           other, rank, gpus[rank].address, comm.host_of(rank));
  return {};
}

bool built_for_gpus() { return true; }

GpuMemory gpu_memory(const Communicator& comm) {
  if (const std::string reason = no_gpus(comm); !reason.empty()) throw InputError(reason);
  GpuMemory memory = agree(comm, [&] {
    select_gpu(comm);
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return GpuMemory{.total = static_cast<std::int64_t>(total), .free = static_cast<std::int64_t>(free)};
  });
  const auto gpus = gpus_of_ranks(comm);
  for (int rank = 0; rank < comm.size(); ++rank)
    if (gpus[rank] == gpus[comm.rank()]) memory.sharers.push_back(rank);
  return memory;
}

std::optional<GpuDescription> describe_gpu(const Communicator& comm) {
  const int number = gpu_of_rank(comm);
  if (number < 0) return {};
  cudaDeviceProp properties{};
  int kilohertz = 0, driver = 0, toolkit = 0;
  check_cuda(cudaGetDeviceProperties(&properties, number), "cudaGetDeviceProperties");
  check_cuda(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, number), "cudaDeviceGetAttribute");
  check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check_cuda(cudaRuntimeGetVersion(&toolkit), "cudaRuntimeGetVersion");
  return GpuDescription{.name = properties.name,
                        .address = bus_address(properties),
                        .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
                        .clock_mhz = kilohertz / 1000,
                        .driver = cuda_version(driver),
                        .toolkit = cuda_version(toolkit)};
}

std::vector<std::string> gpu_names() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return {};
  std::vector<std::string> names;
  for (int number = 0; number < count; ++number) {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, number), "cudaGetDeviceProperties");
    names.emplace_back(properties.name);
  }
  return names;
}

std::vector<std::pair<int, int>> gpus_apart() {
  const auto count = static_cast<int>(gpu_names().size());
  std::vector<std::pair<int, int>> apart;
  for (int second = 0; second < count; ++second)
    for (int first = 0; first < second; ++first) {
      int there = 0, back = 0;
      check_cuda(cudaDeviceCanAccessPeer(&there, first, second), "cudaDeviceCanAccessPeer");
      check_cuda(cudaDeviceCanAccessPeer(&back, second, first), "cudaDeviceCanAccessPeer");
      if (there == 0 || back == 0) apart.emplace_back(first, second);
    }
  return apart;
}

int gpu_of_rank(const Communicator& comm) {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0 ? comm.node_rank() % count : -1;
}

void select_gpu(const Communicator& comm) { check_cuda(cudaSetDevice(gpu_of_rank(comm)), "cudaSetDevice"); }

bool on_gpu(const void* pointer) {
  if (pointer == nullptr) return false;
  cudaPointerAttributes attributes{};
  check_cuda(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes");
  return attributes.type == cudaMemoryTypeDevice;
}

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes <= 0) return;
  check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy", bytes);
  // It may return before a copy on a GPU, or from pageable memory, which other streams do not wait for.
  check_cuda(cudaStreamSynchronize(nullptr), "cudaMemcpy", bytes);
}

void check_cuda(int code, std::string_view call, std::int64_t bytes) {
  if (code != cudaSuccess) throw MpiError(call, cudaGetErrorString(static_cast<cudaError_t>(code)), -1, bytes);
}

std::byte* KeptMemory::at_least(std::int64_t bytes) {
  if (bytes <= bytes_) return data_;
  free();
  void* data = nullptr;
  const std::size_t size = bytes;
  const bool gpu = place_ == Place::gpu;
  if (const cudaError_t error = gpu ? cudaMalloc(&data, size) : cudaMallocHost(&data, size); error != cudaSuccess)
    throw MpiError(gpu ? "cudaMalloc" : "cudaMallocHost", gpu ? allocation_error(error) : cudaGetErrorString(error), -1,
                   bytes);
  data_ = static_cast<std::byte*>(data);
  bytes_ = bytes;
  return data_;
}

void KeptMemory::free() {
  place_ == Place::gpu ? cudaFree(data_) : cudaFreeHost(data_);
  data_ = nullptr;
  bytes_ = 0;
}

KeptMemory::~KeptMemory() {
  if (data_ != nullptr) free();
}

}  // namespace shardmark::comm

#else

#include <cstring>

namespace shardmark::comm {
namespace {

constexpr std::string_view no_cuda = "this build has no CUDA";

}  // namespace

std::string no_gpus(const Communicator&) { return std::string(no_cuda); }
std::string no_own_gpus(const Communicator&) { return std::string(no_cuda); }
bool built_for_gpus() { return false; }
GpuMemory gpu_memory(const Communicator&) { throw InputError(std::string(no_cuda)); }
std::optional<GpuDescription> describe_gpu(const Communicator&) { return {}; }
std::vector<std::string> gpu_names() { return {}; }
std::vector<std::pair<int, int>> gpus_apart() { return {}; }
int gpu_of_rank(const Communicator&) { return -1; }
void select_gpu(const Communicator&) {}
bool on_gpu(const void*) { return false; }
void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
void check_cuda(int, std::string_view, std::int64_t) {}
std::byte* KeptMemory::at_least(std::int64_t bytes) { throw MpiError("allocation on a GPU", no_cuda, -1, bytes); }
void KeptMemory::free() {}
KeptMemory::~KeptMemory() = default;

}  // namespace shardmark::comm

#endif
