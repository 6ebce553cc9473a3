// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lanes.hpp"

namespace shardmark::kernels {

/// A number of columns known to the compiler.
template <int Size>
struct Block {
  static constexpr int size = Size;
  static constexpr std::int64_t capacity = Size;  ///< as AnyWidth's
  KOKKOS_FUNCTION constexpr operator std::int64_t() const { return Size; }
};

/// Calls body(first column, Block<N>) for the blocks that make up [first, width): as many of the first of Sizes as fit,
/// then of the next, and so on. The last of Sizes is 1.
template <int Size, int... Smaller, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_blocks(std::int64_t width, const Body& body, std::int64_t first = 0) {
  for (; first + Size <= width; first += Size) body(first, Block<Size>{});
  if constexpr (sizeof...(Smaller) > 0) for_blocks<Smaller...>(width, body, first);
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

/// sum[c] = sum over i = begin, begin + 1, .. < end of weight_at(i) * vector_at(i)[c], c in the block, added in this
/// order to 0.
template <int Size, class VectorAt, class WeightAt>
KOKKOS_FORCEINLINE_FUNCTION void add_vectors(float* sum, Block<Size>, std::int64_t begin, std::int64_t end,
                                             const VectorAt& vector_at, const WeightAt& weight_at) {
  Lanes total[(Size + lane_count - 1) / lane_count];
  for (auto& lanes : total) lanes = 0.0F;
  for (std::int64_t i = begin; i < end; ++i) {
    const float* vector = vector_at(i);
    const float weight = weight_at(i);
    for (std::int64_t c = 0; c < Size; c += lane_count)
      total[c / lane_count] = total[c / lane_count] + weight * load_lanes(vector + c, Size - c);
  }
  for (std::int64_t c = 0; c < Size; c += lane_count) store_lanes(sum + c, total[c / lane_count], Size - c);
}

}  // namespace shardmark::kernels
