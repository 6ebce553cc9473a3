// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/array.hpp"

namespace shardmark::kernels {

#if defined(SHARDMARK_EMULATED_DEVICE)
using emulated::RecordedLaunches;
#elif defined(KOKKOS_ENABLE_CUDA)
/// Is a CUDA graph of what was launched on the stream of Kokkos.
class RecordedLaunches {
 public:
  /// Throws std::runtime_error where a launch cannot be recorded, as one behind which the host waits.
  template <class Launches>
  explicit RecordedLaunches(const Launches& launches) {
    // Of this thread alone: others may call what no capture allows, as the one that sums gradients by NCCL does.
    check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal), "its begin");
    cudaGraph_t graph = nullptr;
    try {
      launches();
    } catch (...) {
      cudaStreamEndCapture(stream(), &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      throw;
    }
    check(cudaStreamEndCapture(stream(), &graph), "its end");
    const cudaError_t made = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check(made, "what can be launched");
  }
  ~RecordedLaunches() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  }
  RecordedLaunches(const RecordedLaunches&) = delete;
  RecordedLaunches& operator=(const RecordedLaunches&) = delete;

  void launch() const { check(cudaGraphLaunch(executable_, stream()), "its launch"); }

 private:
  static cudaStream_t stream() { return Kokkos::Cuda().cuda_stream(); }
  static void check(cudaError_t error, const char* what) {
    if (error != cudaSuccess)
      throw std::runtime_error(std::string("a CUDA graph has failed in ") + what + ": " + cudaGetErrorString(error));
  }

  cudaGraphExec_t executable_ = nullptr;
};
#endif

/// Is what launches depend on, the numbers and addresses that their kernels get.
using LaunchKey = std::array<std::uint64_t, 10>;

/// Launches the same kernels again and again as one: on a GPU a launch takes the host 2 to 10 us, and a graph of them
/// about as long as one. Objects are used by one thread.
class LaunchGraphs {
 public:
  /// Calls launches(), which launches the same kernels with the same arguments whenever the key is the same, and
  /// neither waits nor allocates when it is called with one again. On a device that happens twice: the first time it
  /// prepares what it needs, the second time it is recorded; from then on the recording is launched in its place.
  template <class Launches>
  void run(const LaunchKey& key, const Launches& launches) {
#if defined(SHARDMARK_EMULATED_DEVICE) || defined(KOKKOS_ENABLE_CUDA)
    if (graphs_.size() > most_graphs) graphs_.clear();
    const auto [found, first] = graphs_.try_emplace(key);
    if (first) return launches();
    if (!found->second) found->second = std::make_unique<RecordedLaunches>(launches);
    found->second->launch();
#else
    static_cast<void>(key);
    launches();
#endif
  }

 private:
  static constexpr std::size_t most_graphs = 256;  // eight batches of a model in a dozen buckets, and room

#if defined(SHARDMARK_EMULATED_DEVICE) || defined(KOKKOS_ENABLE_CUDA)
  std::map<LaunchKey, std::unique_ptr<RecordedLaunches>> graphs_;
#endif
};

}  // namespace shardmark::kernels
