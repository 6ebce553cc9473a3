// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/readers.hpp"
#include "kernels/simd.hpp"

namespace shardmark::kernels {

/// Returns whether an output of a launch is written past the caches: where it has at least `streamed` bytes and is
/// whole cache lines.
template <class Output>
KOKKOS_INLINE_FUNCTION bool streams_output(const Output& output, std::int64_t stride, std::int64_t dim,
                                           const float* first, std::int64_t streamed = streamed_output) {
  return static_cast<std::int64_t>(output.extent(0) * sizeof(float)) >= streamed &&
         whole_cache_lines(first, stride, dim);
}

/// Stores the simd lanes of a vector of which `count` columns are left. past_caches: the result of streams_output.
KOKKOS_FORCEINLINE_FUNCTION void store(float* to, const Simd& lanes, std::int64_t count, bool past_caches) {
  if (past_caches && count >= simd_width)
    store_past_caches(to, lanes);
  else
    store_simd(to, lanes, count);
}

/// Copies from[dim] to to[dim].
template <class Dim>
KOKKOS_FORCEINLINE_FUNCTION void copy_vector(const float* from, float* to, Dim dim, bool past_caches) {
  for (std::int64_t c = 0; c < dim; c += simd_width) store(to + c, load_simd(from + c, dim - c), dim - c, past_caches);
}

}  // namespace shardmark::kernels
