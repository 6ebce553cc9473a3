// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

namespace shardmark::kernels {

inline constexpr std::uintptr_t huge_page = std::uintptr_t{2} << 20;

/// Asks the system to back [pointer, pointer + bytes) of host memory with transparent huge pages, those at both ends
/// too, which neighbours in the heap share; nothing for less than an eighth of one. Call it before the first touch:
/// pages that exist are merged late or never. A random read of a row then costs one walk of a short page table instead
/// of two or three cache misses, and MPI copies from another rank's memory twice as fast. It is a hint, and does
/// nothing where there are none.
void advise_huge_pages(void* pointer, std::int64_t bytes);

/// Has the C library (glibc) take memory of less than 32 MiB from the heap, where it would map each piece from 128 KiB
/// on by itself, and asks for huge pages for 1 GiB of the heap that nothing has touched: only what is mapped as a whole
/// can be a huge page, so that a mapping of 2 to 4 MiB has one of them or none, as its address happens to be. For
/// programs, before they allocate much. Room that is not used takes addresses alone.
void keep_arrays_in_heap();

/// Does the same for a Kokkos array; nothing where the memory is not the host's.
template <class View>
void advise_huge_pages(const View& view) {
  if constexpr (std::is_same_v<typename View::memory_space, Kokkos::HostSpace>)
    advise_huge_pages(view.data(), static_cast<std::int64_t>(view.size() * sizeof(typename View::value_type)));
}

/// Returns the share in [0, 1] that huge pages, transparent or reserved (hugetlbfs), have of the memory behind
/// [pointer, pointer + bytes): of what was touched, as room that was not has no pages yet. A mapping that only overlaps
/// the range counts in proportion. Source: /proc/self/smaps; 0 without it, and where nothing was touched.
double huge_page_share(const void* pointer, std::int64_t bytes);

/// Returns that of a Kokkos array; 1 where the memory is not the host's, whose pages are large.
template <class View>
double huge_page_share(const View& view) {
  if constexpr (std::is_same_v<typename View::memory_space, Kokkos::HostSpace>)
    return huge_page_share(view.data(), static_cast<std::int64_t>(view.size() * sizeof(typename View::value_type)));
  else
    return 1.0;
}

}  // namespace shardmark::kernels
