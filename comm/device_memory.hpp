// SPDX-License-Identifier: Apache-2.0
// This header declares GPU memory as the exchanges use it. A build without CUDA has none: no_gpus() reports it,
// on_gpu() returns false, and an allocation on a GPU throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark::comm {

/// Returns why some rank has no GPU that it can use, the same on all ranks; empty where each has one, which ranks of a
/// node may share. Collective.
std::string no_gpus(const Communicator& comm);

/// Returns why not every rank has a GPU of its own, the same on all ranks: no_gpus(), or two ranks that share one.
/// Collective.
std::string no_own_gpus(const Communicator& comm);

/// Says whether this program's kernels run on GPUs.
bool built_for_gpus();

/// Describes the memory of the GPU that a rank takes.
struct GpuMemory {
  std::int64_t total = 0;         ///< bytes
  std::int64_t free = 0;          ///< bytes that nothing has taken yet
  std::vector<int> sharers = {};  ///< the ranks that take this GPU, itself among them
};

/// Returns that of this rank's GPU. Where no_gpus() gives a reason, it throws InputError with it. Collective.
GpuMemory gpu_memory(const Communicator& comm);

/// Describes a GPU for the record of a run.
struct GpuDescription {
  std::string name;     ///< "NVIDIA H200"
  std::string address;  ///< on the bus of its host, "0000:1b:00"
  std::int64_t memory_bytes = 0;
  std::int64_t clock_mhz = 0;   ///< the highest of its multiprocessors
  std::string driver, toolkit;  ///< the latest CUDA that the driver knows, and that of the program: "13.0"
};

/// Returns that of this rank's GPU; absent where it sees none.
std::optional<GpuDescription> describe_gpu(const Communicator& comm);

/// Returns the names of this node's GPUs, such as "NVIDIA H200"; empty where CUDA sees none.
std::vector<std::string> gpu_names();

/// Returns the pairs of the GPUs that this rank sees, by number, of which one cannot reach the memory of the other:
/// what they exchange goes through the host.
std::vector<std::pair<int, int>> gpus_apart();

/// Returns the number of this rank's GPU among those that it sees: the rank's number on its node, modulo how many they
/// are; -1 where it sees none. So ranks that see all GPUs of a node take different ones, and a rank that its launcher
/// gives one (CUDA_VISIBLE_DEVICES, srun --gpus-per-task=1) takes that.
int gpu_of_rank(const Communicator& comm);

/// Makes this rank's GPU the current one of the calling thread.
void select_gpu(const Communicator& comm);

/// Returns whether the pointer is to memory of a GPU, which only a GPU and its library can read.
bool on_gpu(const void* pointer);

/// Copies `bytes` bytes between memory of a host or a GPU, and returns when the copy is done, for all streams.
void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes);

/// Throws MpiError with the call and CUDA's error string unless `code` (a cudaError_t) is cudaSuccess.
void check_cuda(int code, std::string_view call, std::int64_t bytes = -1);

/// Is a stream of a GPU (a cudaStream_t), whose work runs in order while the host goes on; null in a build without
/// CUDA.
struct GpuStream {
  void* handle = nullptr;
};

/// Holds memory that is reused from run to run and grows when more is asked for.
class KeptMemory {
 public:
  enum class Place { gpu, pinned_host };

  explicit KeptMemory(Place place) : place_(place) {}
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
  ~KeptMemory();

  /// Returns at least `bytes` bytes with unspecified contents; they are valid until more is asked for. Throws MpiError.
  std::byte* at_least(std::int64_t bytes);

 private:
  void free();

  Place place_;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace shardmark::comm
