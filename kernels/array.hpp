// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef SHARDMARK_EMULATED_DEVICE
#include "kernels/test/emulated/emulated_device.hpp"
#endif
#include "kernels/guard_bands.hpp"
#include "kernels/huge_pages.hpp"
#include "kernels/prefetch.hpp"

namespace shardmark::kernels {

/// Is where kernels run unless their caller chooses: the GPU of preset `cuda`, the emulated device of preset `emulated`
/// (test/emulated/), else threads of the host.
#ifdef SHARDMARK_EMULATED_DEVICE
using DefaultSpace = emulated::Exec;
#else
using DefaultSpace = Kokkos::DefaultExecutionSpace;
#endif

/// Is a one-dimensional array that kernels of Exec can reach.
template <class Exec, class T>
using Array = Kokkos::View<T*, typename Exec::memory_space>;
template <class Exec, class T>
using ConstArray = Array<Exec, const T>;

/// Says whether the host can reach the arrays of Exec.
template <class Exec>
inline constexpr bool in_host_memory =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;

/// Says whether Exec takes the kernels of the device_* headers, whose lanes share bags and rows.
template <class Exec>
inline constexpr bool on_device = !in_host_memory<Exec>;

/// Says how many items in a row one thread takes: one on a device, whose threads read neighbours together.
template <class Exec>
inline constexpr std::int64_t items_in_a_row = on_device<Exec> ? 1 : 256;

/// Returns the alignment of arrays of so many bytes: they begin with the first of a pair of cache lines (large ones of
/// Kokkos begin with the second) or, on the host and from two huge pages on, with a huge page. What is skipped for that
/// is never touched.
template <class Exec>
std::size_t alignment_of_array(std::size_t bytes) {
  constexpr bool on_host = std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>;
  return on_host && bytes >= 2 * huge_page ? huge_page : static_cast<std::size_t>(line_pair);
}

/// Keeps the array until nobody else uses it, and watches the bands of `band` bytes before and behind its elements,
/// which lie in [begin, end).
void guard_array(const Kokkos::Impl::SharedAllocationTracker& array, const std::string& label, void* begin, void* end,
                 std::size_t band);

/// Returns an uninitialised array, in huge pages as far as the system has them.
template <class Exec, class T>
Array<Exec, T> allocate(const std::string& label, std::int64_t size) {
  const std::size_t wanted = static_cast<std::size_t>(size), alignment = alignment_of_array<Exec>(wanted * sizeof(T));
  const bool aligned = alignment % sizeof(T) == 0;
  const std::size_t band = in_host_memory<Exec> ? guard_elements<T>() : 0;
  const Array<Exec, T> array(Kokkos::view_alloc(label, Kokkos::WithoutInitializing),
                             wanted + 2 * band + (aligned ? alignment / sizeof(T) : 0));
  advise_huge_pages(array);
  const auto behind_band = reinterpret_cast<std::uintptr_t>(array.data() + band);
  const std::size_t skip = aligned ? -behind_band % alignment / sizeof(T) : 0;
  const std::size_t begin = band + skip;
  T* const first = array.data() + begin;
  if (band > 0) guard_array(array.impl_track(), label, first, first + wanted, band * sizeof(T));
  return Kokkos::subview(array, std::pair(begin, begin + wanted));
}

/// Returns the bytes of a contiguous array, which must outlive them.
template <class View>
auto bytes_of(const View& array) {
  using Element = typename View::value_type;
  using Byte = std::conditional_t<std::is_const_v<Element>, const std::byte, std::byte>;
  return Kokkos::View<Byte*, typename View::memory_space, Kokkos::MemoryUnmanaged>(
      reinterpret_cast<Byte*>(array.data()), array.size() * sizeof(Element));
}

/// Copies an array to one of as many elements, in order with the kernels of exec. As bytes, of which Kokkos' copy is
/// compiled once, not for each type of element.
template <class Exec, class To, class From>
void copy_array(const Exec& exec, const To& to, const From& from) {
  static_assert(std::is_same_v<typename To::value_type, typename From::non_const_value_type>);
  Kokkos::deep_copy(exec, bytes_of(to), bytes_of(from));
}

/// Returns the values as an array, which they must outlive.
template <class T>
auto host_array(const std::vector<T>& values) {
  return Kokkos::View<const T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(values.data(), values.size());
}
template <class T>
auto host_array(std::vector<T>& values) {
  return Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(values.data(), values.size());
}

/// Copies the values to the memory of Exec.
template <class Exec, class T>
Array<Exec, T> array_of(const Exec& exec, const std::vector<T>& values, const std::string& label) {
  const Array<Exec, T> array = allocate<Exec, T>(label, std::ssize(values));
  copy_array(exec, array, host_array(values));
  exec.fence("shardmark::array_of: `values` may go away");
  return array;
}

/// Is a buffer that only grows: a step whose sizes have been seen before does not allocate. Contents do not survive
/// growth.
template <class Exec, class T>
class Scratch {
 public:
  explicit Scratch(std::string label) : label_(std::move(label)) {}

  /// Returns the first `size` elements, uninitialised; valid until the next call.
  Array<Exec, T> first(std::int64_t size) {
    const auto wanted = static_cast<std::size_t>(size);
    const std::size_t band = in_host_memory<Exec> ? guard_elements<T>() : 0;
    band_.reset();
    if (wanted + band > buffer_.extent(0)) {
      buffer_ = {};
      buffer_ = allocate<Exec, T>(label_, static_cast<std::int64_t>(wanted + wanted / 8 + band));
    }
    if (band > 0) band_ = guard_band(buffer_.data() + wanted, band * sizeof(T), "behind the used part of " + label_);
    return Kokkos::subview(buffer_, std::pair<std::size_t, std::size_t>(0, wanted));
  }

  /// Returns the first values.size() elements, with these values, which may go away; valid until the next call.
  ConstArray<Exec, T> holding(const Exec& exec, const std::vector<T>& values) {
    const Array<Exec, T> array = first(std::ssize(values));
    copy_array(exec, array, host_array(values));
    exec.fence("shardmark::Scratch: `values` may go away");
    return array;
  }

 private:
  std::string label_;
  Array<Exec, T> buffer_;
  std::shared_ptr<const void> band_;  ///< behind the elements that are in use; goes before the buffer does
};

/// Has Kokkos pass kernels of up to 4 KiB as arguments: those of more than 512 bytes would go through a buffer of the
/// device, for which the host waits until the kernel before has ended.
using AsArguments = Kokkos::Experimental::WorkItemProperty::HintLightWeight_t;

/// Returns a policy for the indices [0, size), handed out one by one as threads become free: for kernels whose index
/// stands for a range of rows. Traits: a work tag.
template <class... Traits, class Exec>
auto dynamic_range(const Exec& exec, std::int64_t size) {
  using Policy = Kokkos::RangePolicy<Exec, Traits..., AsArguments, Kokkos::Schedule<Kokkos::Dynamic>,
                                     Kokkos::IndexType<std::int64_t>>;
  return Policy(exec, 0, size, Kokkos::ChunkSize(1));
}

template <class... Traits, class Exec>
auto static_range(const Exec& exec, std::int64_t size) {
  return Kokkos::RangePolicy<Exec, Traits..., AsArguments, Kokkos::IndexType<std::int64_t>>(exec, 0, size);
}

}  // namespace shardmark::kernels
