// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace shardmark::kernels {

/// A number of columns known to the compiler.
template <int Size>
struct Block {
  static constexpr int size = Size;
  KOKKOS_FUNCTION constexpr operator std::int64_t() const { return Size; }
};

/// Calls body(first column, Block<N>) for the blocks that make up [first, width): as many of Largest as fit, then of a
/// quarter of it, and so on down to 1. Largest: a power of four.
template <int Largest, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_blocks(std::int64_t width, const Body& body, std::int64_t first = 0) {
  for (; first + Largest <= width; first += Largest) body(first, Block<Largest>{});
  if constexpr (Largest > 1) for_blocks<Largest / 4>(width, body, first);
}

/// sum[c] = sum over i = begin, begin + 1, .. < end of weight_at(i) * vector_at(i)[c], c in the block, added in this
/// order to 0.
template <int Size, class VectorAt, class WeightAt>
KOKKOS_FORCEINLINE_FUNCTION void add_vectors(float* sum, Block<Size>, std::int64_t begin, std::int64_t end,
                                             const VectorAt& vector_at, const WeightAt& weight_at) {
  float total[Size] = {};
  for (std::int64_t i = begin; i < end; ++i) {
    const float* vector = vector_at(i);
    const float weight = weight_at(i);
    for (int c = 0; c < Size; ++c) total[c] += weight * vector[c];
  }
  for (int c = 0; c < Size; ++c) sum[c] = total[c];
}

}  // namespace shardmark::kernels
