// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "reference/value_type.hpp"

#if !defined(__CUDACC__)
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define SHARDMARK_AVX512
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define SHARDMARK_AVX2
#endif
#if defined(__SSE2__)
#define SHARDMARK_SSE2
#include <immintrin.h>
#endif
#endif

// Before loops over the columns of a block: GCC 12 else unrolls them first and shuffles the pieces together.
#if defined(_OPENMP) && !defined(__CUDACC__)
#define SHARDMARK_SIMD _Pragma("omp simd")
#else
#define SHARDMARK_SIMD
#endif

namespace shardmark::kernels {

// These are the operations on one number; the files beside this have them for 16 at once.

/// Returns a b + c, rounded once: a fused multiply-add where the machine has one, else by way of double.
KOKKOS_FORCEINLINE_FUNCTION float fused(float a, float b, float c) {
#if defined(__FP_FAST_FMAF) || defined(__CUDA_ARCH__)
  return Kokkos::fma(a, b, c);
#else
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c));
#endif
}
KOKKOS_FORCEINLINE_FUNCTION float square_root(float a) { return Kokkos::sqrt(a); }
/// Returns the larger one; a where either is not a number.
KOKKOS_FORCEINLINE_FUNCTION float larger(float a, float b) { return a < b ? b : a; }
KOKKOS_FORCEINLINE_FUNCTION float smaller(float a, float b) { return b < a ? b : a; }

inline constexpr std::int64_t simd_width = 16;

#if defined(SHARDMARK_AVX512) || defined(SHARDMARK_AVX2)
/// Returns the sum of 8 lanes, halves added to halves.
inline float sum_of(__m256 eight) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
#endif

}  // namespace shardmark::kernels
