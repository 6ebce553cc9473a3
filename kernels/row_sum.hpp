// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/column_blocks.hpp"

namespace shardmark::kernels {

/// Columns of a row that are summed at a time when its dim is none of those `with_width` knows.
inline constexpr std::int64_t column_tile = 256;

/// Asks for the cache lines of [row, row + bytes) ahead of their use (a piece of 4 bytes lies in one line); a hint on
/// the host, nothing on a device. Into the second cache: the first one waits for some 24 lines at a time, and Zen 4
/// gathers 1.5 times as fast without that limit.
KOKKOS_FORCEINLINE_FUNCTION void prefetch([[maybe_unused]] const void* row, [[maybe_unused]] std::int64_t bytes) {
  KOKKOS_IF_ON_HOST((const char* line = static_cast<const char*>(row);
                     for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(line + at, 0, 2);
                     if (bytes % 64 > 4) __builtin_prefetch(line + bytes - 1, 0, 2);))
}

/// Asks for lines that `prefetch` has brought near into the first cache.
KOKKOS_FORCEINLINE_FUNCTION void prefetch_near([[maybe_unused]] const void* row, [[maybe_unused]] std::int64_t bytes) {
  KOKKOS_IF_ON_HOST((const char* line = static_cast<const char*>(row);
                     for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(line + at, 0, 3);
                     if (bytes % 64 > 4) __builtin_prefetch(line + bytes - 1, 0, 3);))
}

/// Asks for the cache line of `place` to write to it.
KOKKOS_FORCEINLINE_FUNCTION void prefetch_to_write([[maybe_unused]] const void* place) {
  KOKKOS_IF_ON_HOST((__builtin_prefetch(place, 1, 3);))
}

/// A dim known at run time only; its rows are taken in tiles of column_tile.
struct AnyWidth {
  static constexpr std::int64_t capacity = column_tile;
  std::int64_t size;
  KOKKOS_FUNCTION constexpr operator std::int64_t() const { return size; }
};

/// Calls body(Block<dim>{}) for the usual dims, else body(AnyWidth{dim}): one test per run of rows, none per row.
/// Always the latter on a device, where nvcc would take ten minutes to unroll what threads should share.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_width(std::int64_t dim, const Body& body) {
#ifdef __CUDA_ARCH__
  body(AnyWidth{dim});
#else
  switch (dim) {
    case 4:
      return body(Block<4>{});
    case 8:
      return body(Block<8>{});
    case 16:
      return body(Block<16>{});
    case 32:
      return body(Block<32>{});
    case 64:
      return body(Block<64>{});
    case 128:
      return body(Block<128>{});
    case 256:
      return body(Block<256>{});
    default:
      return body(AnyWidth{dim});
  }
#endif
}

}  // namespace shardmark::kernels
