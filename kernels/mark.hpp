// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <chrono>
#include <utility>

namespace shardmark::kernels {

/// Is a moment between kernels of Exec, by the clock of the host, for which a kernel has run when it was launched.
template <class Exec>
class Mark {
 public:
  void set(const Exec&) { at_ = std::chrono::steady_clock::now(); }
  /// Returns the seconds from an earlier moment to this one.
  double seconds_since(const Mark& earlier) const { return std::chrono::duration<double>(at_ - earlier.at_).count(); }

 private:
  std::chrono::steady_clock::time_point at_;
};

#ifdef KOKKOS_ENABLE_CUDA
/// Is the same by the clock of the GPU: what was launched before it has run, and nothing that was launched since. The
/// host does not wait for it before it asks for seconds.
template <>
class Mark<Kokkos::Cuda> {
 public:
  Mark() { KOKKOS_IMPL_CUDA_SAFE_CALL(cudaEventCreate(&event_)); }
  ~Mark() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  Mark(Mark&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Mark& operator=(Mark&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }

  void set(const Kokkos::Cuda& exec) { KOKKOS_IMPL_CUDA_SAFE_CALL(cudaEventRecord(event_, exec.cuda_stream())); }
  double seconds_since(const Mark& earlier) const {
    float milliseconds = 0;
    KOKKOS_IMPL_CUDA_SAFE_CALL(cudaEventSynchronize(event_));
    KOKKOS_IMPL_CUDA_SAFE_CALL(cudaEventElapsedTime(&milliseconds, earlier.event_, event_));
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};
#endif

}  // namespace shardmark::kernels
