// SPDX-License-Identifier: Apache-2.0
// Memory of GPUs as the exchanges meet it. A build without CUDA has none: no_gpus() says so, on_gpu() is false, and an
// allocation on a GPU throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark::comm {

/// Why not every rank has a GPU of its own, the same on all ranks; empty: rank r of a node has GPU r. Collective.
std::string no_gpus(const Communicator& comm);

/// The names of this node's GPUs, "NVIDIA H200"; none where CUDA sees none.
std::vector<std::string> gpu_names();

/// Makes GPU `number` that of the calling thread.
void select_gpu(int number);

/// Whether only a GPU and its library can read what is there.
bool on_gpu(const void* pointer);

/// From and to memory of a host or a GPU; returns when it is done.
void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes);

/// Throws MpiError with the call and CUDA's error string unless `code` (a cudaError_t) is cudaSuccess.
void check_cuda(int code, std::string_view call, std::int64_t bytes = -1);

/// Memory that is kept from run to run and grows when more is asked for.
class KeptMemory {
 public:
  enum class Place { gpu, pinned_host };

  explicit KeptMemory(Place place) : place_(place) {}
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
  ~KeptMemory();

  /// At least `bytes` bytes, of any contents; valid until more is asked for. Throws MpiError.
  std::byte* at_least(std::int64_t bytes);

 private:
  void free();

  Place place_;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace shardmark::comm
