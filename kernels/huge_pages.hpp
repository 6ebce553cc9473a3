// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

namespace shardmark::kernels {

inline constexpr std::uintptr_t huge_page = std::uintptr_t{2} << 20;

/// Asks the system to back [pointer, pointer + bytes) of host memory with transparent huge pages as far as they fit
/// inside. Call it before the first touch: pages that exist are merged late or never. A random read of a row then costs
/// one walk of a short page table instead of two or three cache misses. It is a hint, and does nothing where there are
/// none.
void advise_huge_pages(void* pointer, std::int64_t bytes);

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
