// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lanes.hpp"

namespace shardmark::kernels {

/// A number of columns known to the compiler.
template <int Size>
struct Block {
  static constexpr std::int64_t capacity = Size;  ///< as AnyWidth's
  KOKKOS_FUNCTION constexpr operator std::int64_t() const { return Size; }
};

/// The columns behind the last whole Lanes of a row.
struct Rest {
  static constexpr std::int64_t capacity = lane_count;
  std::int64_t size;
  KOKKOS_FUNCTION constexpr operator std::int64_t() const { return size; }
};

/// Calls body(first column, Block<N>) for the blocks that make up [first, width): as many of the first of Sizes as fit,
/// then of the next, and so on; then body(column, Rest) for what is left. The last of Sizes is lane_count.
template <int Size, int... Smaller, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_blocks(std::int64_t width, const Body& body, std::int64_t first = 0) {
  for (; first + Size <= width; first += Size) body(first, Block<Size>{});
  if constexpr (sizeof...(Smaller) > 0)
    for_blocks<Smaller...>(width, body, first);
  else if (first < width)
    body(first, Rest{width - first});
}

/// Calls body(Block<dim>{}) for the usual dims, else body(dim): one test per run of rows, none per row.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_dim(std::int64_t dim, const Body& body) {
  switch (dim) {
    case 16:
      return body(Block<16>{});
    case 32:
      return body(Block<32>{});
    case 64:
      return body(Block<64>{});
    case 128:
      return body(Block<128>{});
    default:
      return body(dim);
  }
}

/// Columns of a row that are summed at a time when its dim is none of those `with_width` knows.
inline constexpr std::int64_t column_tile = 256;

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

/// sum[c] = sum over i = begin, begin + 1, .. < end of weight_at(i) * vector_at(i)[c], c in the block or the
/// rest, added in this order to 0.
template <class Width, class VectorAt, class WeightAt>
KOKKOS_FORCEINLINE_FUNCTION void add_vectors(float* sum, Width width, std::int64_t begin, std::int64_t end,
                                             const VectorAt& vector_at, const WeightAt& weight_at) {
  Lanes total[Width::capacity / lane_count];
  for (auto& lanes : total) lanes = 0.0F;
  for (std::int64_t i = begin; i < end; ++i) {
    const float* vector = vector_at(i);
    const float weight = weight_at(i);
    for (std::int64_t c = 0; c < Width::capacity; c += lane_count)
      total[c / lane_count] = total[c / lane_count] + weight * load_lanes(vector + c, width - c);
  }
  for (std::int64_t c = 0; c < Width::capacity; c += lane_count) store_lanes(sum + c, total[c / lane_count], width - c);
}

}  // namespace shardmark::kernels
