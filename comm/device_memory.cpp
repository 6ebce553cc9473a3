// SPDX-License-Identifier: Apache-2.0
#include "comm/device_memory.hpp"

#include "comm/mpi_error.hpp"

#ifdef SHARDMARK_WITH_CUDA

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "comm/collectives.hpp"

namespace shardmark::comm {

std::string no_gpus(const Communicator& comm) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  const auto counts = all_gather(comm, count);
  const auto ranks = all_gather(comm, comm.node_size());
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] < ranks[rank])
      return fmt::format("{} has {} GPUs for {} ranks", comm.host_of(static_cast<int>(rank)), counts[rank],
                         ranks[rank]);
  }
  return {};
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

void select_gpu(int number) { check_cuda(cudaSetDevice(number), "cudaSetDevice"); }

bool on_gpu(const void* pointer) {
  if (pointer == nullptr) return false;
  cudaPointerAttributes attributes{};
  check_cuda(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes");
  return attributes.type == cudaMemoryTypeDevice;
}

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0) check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy", bytes);
}

void check_cuda(int code, std::string_view call, std::int64_t bytes) {
  if (code != cudaSuccess) throw MpiError(call, cudaGetErrorString(static_cast<cudaError_t>(code)), -1, bytes);
}

std::byte* KeptMemory::at_least(std::int64_t bytes) {
  if (bytes <= bytes_) return data_;
  free();
  void* data = nullptr;
  const std::size_t size = bytes;
  if (place_ == Place::gpu)
    check_cuda(cudaMalloc(&data, size), "cudaMalloc", bytes);
  else
    check_cuda(cudaMallocHost(&data, size), "cudaMallocHost", bytes);
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
std::vector<std::string> gpu_names() { return {}; }
void select_gpu(int) {}
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
