// SPDX-License-Identifier: Apache-2.0
// In place of comm/device_memory.cpp: the memory of the emulated device is that of a GPU. Staged exchanges reach it as
// cudaMemcpy would; work that is queued is not waited for, as on a stream that is not ordered with theirs.
#include <cstdlib>
#include <cstring>

#include "comm/device_memory.hpp"
#include "comm/mpi_error.hpp"
#include "kernels/array.hpp"

using Device = shardmark::kernels::emulated::Device;
using shardmark::comm::Communicator;
using shardmark::comm::KeptMemory;

std::string shardmark::comm::no_gpus(const Communicator&) { return "the emulated device is none of CUDA"; }
std::string shardmark::comm::no_own_gpus(const Communicator& comm) { return no_gpus(comm); }
bool shardmark::comm::built_for_gpus() { return false; }
shardmark::comm::GpuMemory shardmark::comm::gpu_memory(const Communicator&) { return {}; }
std::vector<std::string> shardmark::comm::gpu_names() { return {"emulated device"}; }
int shardmark::comm::gpu_of_rank(const Communicator&) { return 0; }
void shardmark::comm::select_gpu(const Communicator&) {}
bool shardmark::comm::on_gpu(const void* pointer) { return Device::get().holds(pointer); }
void shardmark::comm::copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  const Device::Opened opened(Device::get());
  if (bytes > 0) std::memcpy(to, from, bytes);
}
void shardmark::comm::check_cuda(int, std::string_view, std::int64_t) {}

std::byte* KeptMemory::at_least(std::int64_t bytes) {
  if (bytes <= bytes_) return data_;
  if (place_ == Place::gpu) throw MpiError("allocation on a GPU", "the emulated device is none of CUDA", -1, bytes);
  free();
  data_ = static_cast<std::byte*>(std::malloc(static_cast<std::size_t>(bytes)));
  bytes_ = bytes;
  return data_;
}
void KeptMemory::free() {
  std::free(data_);
  data_ = nullptr;
  bytes_ = 0;
}
KeptMemory::~KeptMemory() { free(); }
