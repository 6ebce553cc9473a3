// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/simd.hpp"

namespace shardmark::kernels {

/// Is a number of columns known to the compiler.
template <int Size>
struct Block {
  static constexpr std::int64_t capacity = Size;  ///< as AnyWidth's
  KOKKOS_FUNCTION constexpr operator std::int64_t() const { return Size; }
};

/// Is a number of columns known at run time only, which are taken `Capacity` at a time.
template <std::int64_t Capacity>
struct UpTo {
  static constexpr std::int64_t capacity = Capacity;
  std::int64_t size;
  KOKKOS_FUNCTION constexpr operator std::int64_t() const { return size; }
};

/// Counts the columns behind the last whole Simd of a row.
using Rest = UpTo<simd_width>;

/// This is the number of columns of a row that are summed at a time when its dim is none of those `with_width` knows.
inline constexpr std::int64_t column_tile = 256;
using AnyWidth = UpTo<column_tile>;

/// Calls body(Block<dim>{}) if `dim` is one of Sizes, else body(other).
template <int... Sizes, class Other, class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_block(std::int64_t dim, Other other, const Body& body) {
  const bool known = (... || (dim == Sizes && (body(Block<Sizes>{}), true)));
  if (!known) body(other);
}

/// Calls body(first column, Block<N>) for the blocks that make up [first, width): as many of the first of Sizes as fit,
/// then of the next, and so on; then for what is left body(column, Block<8>, Block<4> or Rest). The last of Sizes is
/// simd_width.
template <int Size, int... Smaller, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_blocks(std::int64_t width, const Body& body, std::int64_t first = 0) {
  for (; first + Size <= width; first += Size) body(first, Block<Size>{});
  if constexpr (sizeof...(Smaller) > 0)
    for_blocks<Smaller...>(width, body, first);
  else if (first < width)
    with_block<8, 4>(width - first, Rest{width - first}, [&](auto block) { body(first, block); });
}

/// Calls body(Block<dim>{}) for the usual dims, and More of them, else body(other). Where nothing is timed the usual
/// dims are one narrower than a Simd and one wider, so that kernels compile in two thirds of the time.
template <int... More, class Other, class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_usual_dim(std::int64_t dim, Other other, const Body& body) {
#ifdef SHARDMARK_UNTIMED
  with_block<8, 64>(dim, other, body);
#else
  with_block<4, 8, 16, 32, 64, 128, More...>(dim, other, body);
#endif
}

/// Does this in updates: one test per run of rows, none per row.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_dim(std::int64_t dim, const Body& body) {
  with_usual_dim(dim, dim, body);
}

/// Does the same in lookups, with AnyWidth{dim} as any other; always that on a device, where nvcc would take ten
/// minutes to unroll what threads should share.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_width(std::int64_t dim, const Body& body) {
#ifdef __CUDA_ARCH__
  body(AnyWidth{dim});
#else
  with_usual_dim<256>(dim, AnyWidth{dim}, body);
#endif
}

/// Sets sum[c] to the sum over i = begin, begin + 1, .. < end of weight_at(i) * vector_at(i)[c], c in the block or the
/// rest, added in this order to 0.
template <class Width, class VectorAt, class WeightAt>
KOKKOS_FORCEINLINE_FUNCTION void add_vectors(float* sum, Width width, std::int64_t begin, std::int64_t end,
                                             const VectorAt& vector_at, const WeightAt& weight_at) {
  Simd total[(Width::capacity + simd_width - 1) / simd_width];
  for (auto& lanes : total) lanes = 0.0F;
  for (std::int64_t i = begin; i < end; ++i) {
    const float* vector = vector_at(i);
    const float weight = weight_at(i);
    for (std::int64_t c = 0; c < Width::capacity; c += simd_width)
      total[c / simd_width] = total[c / simd_width] + weight * load_simd(vector + c, width - c);
  }
  for (std::int64_t c = 0; c < Width::capacity; c += simd_width) store_simd(sum + c, total[c / simd_width], width - c);
}

}  // namespace shardmark::kernels
