// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace shardmark::kernels {

/// How far ahead of their use rows and gradients are asked for: processors differ in how many lines they can wait for.
struct PrefetchDistances {
  std::int64_t near_lookup;   ///< rows of a lookup, into the first cache; 0: not at all
  std::int64_t updated;       ///< rows of an update, into the second cache; 0: not at all
  std::int64_t near_updated;  ///< the same, into the first
  int gradient_halvings;

  /// Vectors of `dim` gradients: 4 KiB, at most 48 and at least 8 vectors, halved.
  KOKKOS_FORCEINLINE_FUNCTION constexpr std::int64_t gradients(std::int64_t dim) const {
    return (dim > 128 ? 8 : dim < 21 ? 48 : 1024 / dim) >> gradient_halvings;
  }
};

/// Measured with two threads each. Zen 4: asking again near gains 5 % in a lookup of fp32 rows and up to half of
/// narrower ones, and a bag of one id is faster without it. Cascade Lake waits for fewer lines, of lookups or
/// updates: asking for them twice costs up to 10 %.
inline constexpr PrefetchDistances zen_4{8, 40, 8, 0};
inline constexpr PrefetchDistances cascade_lake{0, 0, 12, 1};

inline PrefetchDistances distances_of_this_processor() {
#if defined(__x86_64__) && !defined(__CUDACC__)
  __builtin_cpu_init();
  if (__builtin_cpu_is("intel")) return cascade_lake;
#endif
  return zen_4;
}
inline const PrefetchDistances host_distances = distances_of_this_processor();

/// Those of the host; on a device nothing is asked for ahead.
KOKKOS_FORCEINLINE_FUNCTION PrefetchDistances prefetch_distances() {
  KOKKOS_IF_ON_HOST((return host_distances;))
  KOKKOS_IF_ON_DEVICE((return zen_4;))
}

}  // namespace shardmark::kernels
