// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "comm/exchange/nccl.hpp"
#include "kernels/array.hpp"
#include "kernels/stream.hpp"

namespace shardmark::workloads {

/// Is where steps run: the GPU of preset `cuda`, the emulated device of preset `emulated`, else threads of the host.
using Execution = kernels::DefaultSpace;

/// Says whether the host, and so MPI, can reach the arrays of a step.
inline constexpr bool host_reaches_arrays = kernels::in_host_memory<Execution>;

template <class T>
using DeviceArray = kernels::Array<Execution, T>;
template <class T>
using ConstDeviceArray = kernels::ConstArray<Execution, T>;
template <class T>
using DeviceScratch = kernels::Scratch<Execution, T>;

/// Returns the stream of the kernels of a step, which exchanges may follow.
inline comm::GpuStream kernel_stream() { return {kernels::stream_of(Execution())}; }

/// Waits for all kernels, and for the exchanges that they wait for: throws PeerFailed where another rank has ended.
inline void wait_for_kernels(const std::string& label) {
  if constexpr (!host_reaches_arrays) comm::wait_for_stream(kernel_stream());
  Execution().fence(label);
}

/// Returns the elements [begin, end).
template <class T>
DeviceArray<T> part(const DeviceArray<T>& array, std::int64_t begin, std::int64_t end) {
  return Kokkos::subview(array, std::pair(begin, end));
}

/// Gives MPI, or what else runs on the host, the elements of an array: themselves where the host can reach them, else a
/// copy, which is kept from step to step.
template <class T>
class HostElements {
 public:
  /// Returns the elements for the host to read, when kernels have written them.
  std::span<T> read(const DeviceArray<T>& array) {
    const std::span<T> elements = room_for(array);
    copy(view_of(elements), array);
    return elements;
  }
  /// Returns room for the elements; write() takes them to the array.
  std::span<T> room_for(const DeviceArray<T>& array) {
    if constexpr (host_reaches_arrays) return {array.data(), array.extent(0)};
    if (copy_.size() < array.extent(0)) copy_.resize(array.extent(0));
    return {copy_.data(), array.extent(0)};
  }
  void write(std::span<T> elements, const DeviceArray<T>& array) const { copy(array, view_of(elements)); }

 private:
  using HostView = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  static HostView view_of(std::span<T> elements) { return HostView(elements.data(), elements.size()); }
  template <class To, class From>
  static void copy(const To& to, const From& from) {
    if constexpr (!host_reaches_arrays) {
      comm::wait_for_stream(kernel_stream());  // CUDA does so within a copy to pageable memory, without asking NCCL
      kernels::copy_array(Execution(), to, from);
    }
    wait_for_kernels("shardmark: elements are on the host, or on the device");
  }

  std::vector<T> copy_;
};

/// Is a small array that kernels write and the host reads. On a GPU it is pinned, as a copy to other memory waits.
template <class T>
class HostResult {
#ifdef KOKKOS_ENABLE_CUDA
  using HostSpace = std::conditional_t<host_reaches_arrays, Kokkos::HostSpace, Kokkos::CudaHostPinnedSpace>;
#else
  using HostSpace = Kokkos::HostSpace;
#endif

 public:
  HostResult() = default;
  HostResult(const std::string& label, std::size_t size)
      : host_(label, size), device_(Kokkos::create_mirror_view(Execution::memory_space{}, host_)) {}

  std::size_t size() const { return host_.extent(0); }
  /// Returns where kernels write.
  const DeviceArray<T>& on_device() const { return device_; }
  /// Gives the host what kernels have written, when it has waited for them.
  void bring() const { kernels::copy_array(Execution(), host_, device_); }
  /// Waits for the kernels, and gives the host what they have written.
  void read() const {
    bring();
    wait_for_kernels("shardmark: the host reads a result");
  }
  T& operator()(std::size_t i) const { return host_(i); }

 private:
  Kokkos::View<T*, HostSpace> host_;
  DeviceArray<T> device_;
};

/// Is a list that is made on the host and used by kernels; making it again allocates nothing while it does not grow.
template <class T>
struct HostList {
  std::vector<T> host;

  /// Copies what `host` holds now and returns the copy; valid until the next call.
  const ConstDeviceArray<T>& array() { return made_ = scratch_.holding(Execution(), host); }
  /// Returns the result of the last call of array().
  const ConstDeviceArray<T>& made() const { return made_; }

 private:
  ConstDeviceArray<T> made_;
  DeviceScratch<T> scratch_{"shardmark::listed"};
};

}  // namespace shardmark::workloads
