// SPDX-License-Identifier: Apache-2.0
#pragma once

// The emulated device as Kokkos sees it, written against Kokkos 4.7. All that is compiled for it is what CUDA gets, but
// for KOKKOS_IF_ON_DEVICE, CUB and the warps, which have a form of their own. Here: its memory space and its execution
// space; emulated_launch.hpp has what is launched.
#define KOKKOS_IMPL_PUBLIC_INCLUDE
#include <Kokkos_Core.hpp>
#include <impl/Kokkos_ExecSpaceManager.hpp>
#undef KOKKOS_IMPL_PUBLIC_INCLUDE

#include "kernels/test/emulated/emulated_queue.hpp"

namespace shardmark::kernels::emulated {

class Exec;

/// Is memory that the host cannot touch.
struct Space {
  using memory_space = Space;
  using execution_space = Exec;
  using size_type = std::size_t;
  using device_type = Kokkos::Device<Exec, Space>;

  static constexpr const char* name() { return "Emulated"; }
  void* allocate(std::size_t bytes) const { return allocate("?", bytes); }
  void* allocate(const char* label, std::size_t bytes, std::size_t logical = 0) const {
    if (bytes == 0) return nullptr;
    void* pointer = Device::get().allocate(label, bytes);
    if (Kokkos::Profiling::profileLibraryLoaded())
      Kokkos::Profiling::allocateData(Kokkos::Profiling::make_space_handle(name()), label, pointer,
                                      logical > 0 ? logical : bytes);
    return pointer;
  }
  void* allocate(const Exec&, std::size_t bytes) const { return allocate("?", bytes); }
  void* allocate(const Exec&, const char* label, std::size_t bytes, std::size_t logical = 0) const {
    return allocate(label, bytes, logical);
  }
  void deallocate(void* pointer, std::size_t bytes) const { deallocate("?", pointer, bytes); }
  void deallocate(const char* label, void* pointer, std::size_t bytes, std::size_t logical = 0) const {
    if (pointer == nullptr) return;
    if (Kokkos::Profiling::profileLibraryLoaded())
      Kokkos::Profiling::deallocateData(Kokkos::Profiling::make_space_handle(name()), label, pointer,
                                        logical > 0 ? logical : bytes);
    Device::get().free(pointer);
  }
};

/// Is the device's one stream. It has places for 8 warps, so that work is shared out in more than one piece.
class Exec {
 public:
  using execution_space = Exec;
  using memory_space = Space;
  using size_type = std::size_t;
  using device_type = Kokkos::Device<Exec, Space>;
  using array_layout = Kokkos::LayoutRight;
  using scratch_memory_space = Kokkos::ScratchMemorySpace<Exec>;

  void fence(const std::string& name = "") const { impl_static_fence(name); }
  /// Waits; but not behind what Kokkos copies for each array that is made.
  static void impl_static_fence(const std::string& name) {
    if (name.find("after copying header") == std::string::npos) Device::get().wait();
  }
  int concurrency() const { return 256; }
  void print_configuration(std::ostream&, bool = false) const {}
  static void impl_initialize(const Kokkos::InitializationSettings&) { Device::get(); }
  static int impl_is_initialized() { return 1; }
  static void impl_finalize() { Device::get().wait(); }
  static const char* name() { return "Emulated"; }
  std::uint32_t impl_instance_id() const noexcept { return 1; }
  friend bool operator==(const Exec&, const Exec&) { return true; }
  friend bool operator!=(const Exec&, const Exec&) { return false; }
};
/// Copies in the order of the stream of `On`: host memory is read and written when the queue runs, as CUDA does with
/// pinned memory.
template <class On>
struct Copy {
  static constexpr bool on_stream = std::is_same_v<On, Exec>;

  Copy(void* to, const void* from, std::size_t bytes) {
    Device::get().copy(to, from, bytes);
    Device::get().wait();
  }
  Copy([[maybe_unused]] const On& exec, void* to, const void* from, std::size_t bytes) {
    // Kokkos keeps a header at the begin of each allocation; arrays begin behind it.
    if (Device::get().begins_block(to) || Device::get().begins_block(from)) {
      Device::get().copy_header(to, from, bytes);
      return;
    }
    if constexpr (!on_stream) exec.fence("shardmark::emulated: a copy on another stream");
    Device::get().copy(to, from, bytes);
    if constexpr (!on_stream) Device::get().wait();
  }
};

}  // namespace shardmark::kernels::emulated

KOKKOS_IMPL_HOST_INACCESSIBLE_SHARED_ALLOCATION_SPECIALIZATION(shardmark::kernels::emulated::Space);

namespace Kokkos {
namespace Tools::Experimental {

template <>
struct DeviceTypeTraits<shardmark::kernels::emulated::Exec> {
  static constexpr DeviceType id = DeviceType::Unknown;
  static int device_id(const shardmark::kernels::emulated::Exec&) { return 0; }
};

}  // namespace Tools::Experimental

namespace Impl {

namespace emulated = shardmark::kernels::emulated;

template <>
struct MemorySpaceAccess<HostSpace, emulated::Space> {
  enum : bool { assignable = false, accessible = false, deepcopy = true };
};
template <>
struct MemorySpaceAccess<emulated::Space, HostSpace> {
  enum : bool { assignable = false, accessible = false, deepcopy = true };
};
template <>
struct MemorySpaceAccess<emulated::Space, emulated::Exec::scratch_memory_space> {
  enum : bool { assignable = false, accessible = true, deepcopy = false };
};

template <class On>
struct DeepCopy<emulated::Space, emulated::Space, On> : emulated::Copy<On> {
  using emulated::Copy<On>::Copy;
};
template <class On>
struct DeepCopy<emulated::Space, HostSpace, On> : emulated::Copy<On> {
  using emulated::Copy<On>::Copy;
};
template <class On>
struct DeepCopy<HostSpace, emulated::Space, On> : emulated::Copy<On> {
  using emulated::Copy<On>::Copy;
};

template <>
struct RuntimeCheckBasicViewMemoryAccessViolation<emulated::Space, DefaultHostExecutionSpace, false> {
  RuntimeCheckBasicViewMemoryAccessViolation(const SharedAllocationTracker& tracker) {
    if (emulated::Device::get().runs_here()) return;
    std::fprintf(stderr, "emulated device: the host touched an element of \"%s\"\n",
                 tracker.has_record() ? tracker.get_label<void>().c_str() : "?");
    std::abort();
  }
};
template <>
struct RuntimeCheckMemoryAccessViolation<emulated::Space, DefaultHostExecutionSpace, false> {
  RuntimeCheckMemoryAccessViolation(const char* what) {
    if (!emulated::Device::get().runs_here()) Kokkos::abort(what);
  }
};

}  // namespace Impl
}  // namespace Kokkos

namespace shardmark::kernels::emulated {

inline const int registered = Kokkos::Impl::initialize_space_factory<Exec>("900_Emulated");

}  // namespace shardmark::kernels::emulated
