// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace shardmark::kernels {

inline constexpr std::int64_t cache_line = 64;  ///< bytes
/// Some processors fetch lines in pairs, which hold no other row's lines where rows are whole pairs.
inline constexpr std::int64_t line_pair = 2 * cache_line;

/// Says how many rows and gradients before their use are prefetched: processors differ in how many lines they can wait
/// for.
struct PrefetchPolicy {
  bool pairs_looked_up;  ///< lines of a lookup come in pairs, if one of each is prefetched
  std::int64_t
      near_lookup;       ///< rows of a lookup, into the first-level cache, this many before their use; 0: not at all
  std::int64_t updated;  ///< rows of an update, into the second-level cache; 0: not at all
  std::int64_t near_updated;  ///< the same, into the first
  int gradient_halvings;

  /// Returns how many vectors of `dim` gradients are prefetched: 4 KiB, at most 48 and at least 8 vectors, halved.
  KOKKOS_FORCEINLINE_FUNCTION constexpr std::int64_t gradients(std::int64_t dim) const {
    return (dim > 128 ? 8 : dim < 21 ? 48 : 1024 / dim) >> gradient_halvings;
  }
};

/// These policies were measured with two threads each. Zen 4: a second prefetch near the use gains 5 % in a lookup of
/// fp32 rows and up to half of narrower ones, and a bag of one id is faster without it. Cascade Lake waits for fewer
/// lines, of lookups or updates: prefetching them twice costs up to 10 %; and since its second-level cache fetches
/// lines in pairs, prefetching every other line gains 6 to 13 % in a lookup of rows of 4 and more lines (nothing in an
/// update). Emerald Rapids (of the Golden Cove line, from Sapphire Rapids on) fetches no pairs, looks up as fast with
/// one prefetch as with two, and updates as Zen 4 does.
inline constexpr PrefetchPolicy zen_4{false, 8, 40, 8, 0};
inline constexpr PrefetchPolicy cascade_lake{true, 0, 0, 12, 1};
inline constexpr PrefetchPolicy golden_cove{false, 0, 40, 8, 0};

inline PrefetchPolicy policy_of_this_processor() {
#if defined(__x86_64__) && !defined(__CUDACC__)
  __builtin_cpu_init();
  if (__builtin_cpu_is("intel")) return __builtin_cpu_supports("avxvnni") ? golden_cove : cascade_lake;
#endif
  return zen_4;
}
inline const PrefetchPolicy host_prefetches = policy_of_this_processor();

/// Returns the policy of the host; on a device nothing is prefetched.
KOKKOS_FORCEINLINE_FUNCTION PrefetchPolicy prefetch_policy() {
  KOKKOS_IF_ON_HOST((return host_prefetches;))
  KOKKOS_IF_ON_DEVICE((return zen_4;))
}

/// Prefetches lines of [row, row + bytes), `step` bytes apart, into cache 4 - locality; a piece of 4 bytes lies in one
/// line. (Inlined by force, since GCC 12 takes a function that only prefetches for one without effect, and drops it.)
template <int locality, std::int64_t step = cache_line>
[[gnu::always_inline]] inline void prefetch_lines(const void* row, std::int64_t bytes) {
  const char* line = static_cast<const char*>(row);
  for (std::int64_t at = 0; at < bytes; at += step) __builtin_prefetch(line + at, 0, locality);
  if (bytes % cache_line > 4) __builtin_prefetch(line + bytes - 1, 0, locality);
}

/// Prefetches the cache lines of a row; a hint on the host, nothing on a device. They go into the second-level cache:
/// the first one waits for some 24 lines at a time, and Zen 4 gathers 1.5 times as fast without that limit.
KOKKOS_FORCEINLINE_FUNCTION void prefetch([[maybe_unused]] const void* row, [[maybe_unused]] std::int64_t bytes) {
  KOKKOS_IF_ON_HOST((prefetch_lines<2>(row, bytes);))
}
/// Prefetches only every other line where `in_pairs`: the other one comes with it.
KOKKOS_FORCEINLINE_FUNCTION void prefetch([[maybe_unused]] const void* row, [[maybe_unused]] std::int64_t bytes,
                                          [[maybe_unused]] bool in_pairs) {
  KOKKOS_IF_ON_HOST((if (in_pairs) prefetch_lines<2, line_pair>(row, bytes); else prefetch_lines<2>(row, bytes);))
}

/// Prefetches lines into the first-level cache.
KOKKOS_FORCEINLINE_FUNCTION void prefetch_near([[maybe_unused]] const void* row, [[maybe_unused]] std::int64_t bytes) {
  KOKKOS_IF_ON_HOST((prefetch_lines<3>(row, bytes);))
}

/// Prefetches the cache line of `place` to write to it.
KOKKOS_FORCEINLINE_FUNCTION void prefetch_to_write([[maybe_unused]] const void* place) {
  KOKKOS_IF_ON_HOST((__builtin_prefetch(place, 1, 3);))
}

}  // namespace shardmark::kernels
