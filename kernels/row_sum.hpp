// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

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

/// sum[d] = sum over i = begin, begin + 1, .. < end of weight_at(i) * row_at(i)[d], d in [0, width), added in this
/// order to 0 in the precision of Sum. `width` is a compile-time constant for the usual dims, so that sum stays in
/// registers.
template <class Sum, class Width, class RowAt, class WeightAt>
KOKKOS_FORCEINLINE_FUNCTION void sum_rows(Sum* sum, Width width, std::int64_t begin, std::int64_t end,
                                          const RowAt& row_at, const WeightAt& weight_at) {
  for (std::int64_t d = 0; d < width; ++d) sum[d] = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const auto* row = row_at(i);
    const Sum weight = weight_at(i);
    for (std::int64_t d = 0; d < width; ++d) sum[d] += weight * row[d];
  }
}

/// A dim known to the compiler; any_width leaves it to run time (tiles of column_tile).
template <int Size>
struct Width {
  static constexpr std::int64_t capacity = Size;
  KOKKOS_FUNCTION constexpr operator std::int64_t() const { return Size; }
};
struct AnyWidth {
  static constexpr std::int64_t capacity = column_tile;
  std::int64_t size;
  KOKKOS_FUNCTION constexpr operator std::int64_t() const { return size; }
};

/// Calls body(Width<dim>{}) for the usual dims, else body(AnyWidth{dim}): one test per run of rows, none per row.
/// Always the latter on a device, where nvcc would take ten minutes to unroll what threads should share.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_width(std::int64_t dim, const Body& body) {
#ifdef __CUDA_ARCH__
  body(AnyWidth{dim});
#else
  switch (dim) {
    case 4:
      return body(Width<4>{});
    case 8:
      return body(Width<8>{});
    case 16:
      return body(Width<16>{});
    case 32:
      return body(Width<32>{});
    case 64:
      return body(Width<64>{});
    case 128:
      return body(Width<128>{});
    case 256:
      return body(Width<256>{});
    default:
      return body(AnyWidth{dim});
  }
#endif
}

/// Calls body(first column, width of the tile) for the tiles of a row; one tile of constant width where `dim` is one.
template <class Dim, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_column_tiles(Dim dim, const Body& body) {
  if constexpr (std::is_same_v<Dim, AnyWidth>) {
    for (std::int64_t column = 0; column < dim; column += column_tile)
      body(column, AnyWidth{Kokkos::min(std::int64_t{column_tile}, dim - column)});
  } else {
    body(std::int64_t{0}, dim);
  }
}

}  // namespace shardmark::kernels
