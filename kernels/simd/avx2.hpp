// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "kernels/simd/lane_number.hpp"

#ifdef SHARDMARK_AVX2

namespace shardmark::kernels {

inline constexpr bool many_registers = false;  ///< 32 Simd, not 8 or fewer

struct Simd {
  __m256 low, high;

  Simd() = default;
  Simd(__m256 first, __m256 second) : low(first), high(second) {}
  Simd(float value) : low(_mm256_set1_ps(value)), high(low) {}

  friend Simd operator+(Simd a, Simd b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
  friend Simd operator-(Simd a, Simd b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
  friend Simd operator*(Simd a, Simd b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
  friend Simd operator/(Simd a, Simd b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
  friend Simd fused(Simd a, Simd b, Simd c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  friend Simd square_root(Simd a) { return {_mm256_sqrt_ps(a.low), _mm256_sqrt_ps(a.high)}; }
  friend Simd larger(Simd a, Simd b) { return {_mm256_max_ps(b.low, a.low), _mm256_max_ps(b.high, a.high)}; }
  friend Simd smaller(Simd a, Simd b) { return {_mm256_min_ps(b.low, a.low), _mm256_min_ps(b.high, a.high)}; }
  /// Returns lane by lane c where a == b, else 0.
  friend Simd where_equal(Simd a, Simd b, Simd c) {
    return {_mm256_and_ps(_mm256_cmp_ps(a.low, b.low, _CMP_EQ_OQ), c.low),
            _mm256_and_ps(_mm256_cmp_ps(a.high, b.high, _CMP_EQ_OQ), c.high)};
  }
};

namespace detail {
inline constexpr std::int64_t half = simd_width / 2;

/// Returns a mask with all bits of the first `count` of 8 lanes.
inline __m256i half_mask(std::int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
/// Returns the first `count` of 8 values of T, of one or two bytes each, in the low bytes; the others are 0.
template <class T>
__m128i load_half(const T* from, std::int64_t count) {
  T values[simd_width / sizeof(T)] = {};
  if (count >= half)
    std::memcpy(values, from, half * sizeof(T));
  else if (count > 0)
    std::memcpy(values, from, static_cast<std::size_t>(count) * sizeof(T));
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
}
inline __m256 fp32_half(const Fp16* from, std::int64_t count) { return _mm256_cvtph_ps(load_half(from, count)); }
inline __m256 fp32_half(const Bf16* from, std::int64_t count) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_half(from, count)), 16));
}
inline __m256 fp32_half(const std::uint8_t* from, std::int64_t count) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(load_half(from, count)));
}
}  // namespace detail

template <class T>
Simd load_simd(const T* from, std::int64_t count) {
  return {detail::fp32_half(from, count), detail::fp32_half(from + detail::half, count - detail::half)};
}
inline Simd load_simd(const float* from, std::int64_t count) {
  if (count >= simd_width) return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + detail::half)};
  if (count == 8) return {_mm256_loadu_ps(from), _mm256_setzero_ps()};
  if (count == 4) return {_mm256_zextps128_ps256(_mm_loadu_ps(from)), _mm256_setzero_ps()};
  return {_mm256_maskload_ps(from, detail::half_mask(count)),
          _mm256_maskload_ps(from + detail::half, detail::half_mask(count - detail::half))};
}
inline void store_simd(float* to, Simd lanes, std::int64_t count) {
  if (count >= simd_width) {
    _mm256_storeu_ps(to, lanes.low);
    _mm256_storeu_ps(to + detail::half, lanes.high);
  } else if (count == 8) {
    _mm256_storeu_ps(to, lanes.low);
  } else if (count == 4) {
    _mm_storeu_ps(to, _mm256_castps256_ps128(lanes.low));
  } else {
    _mm256_maskstore_ps(to, detail::half_mask(count), lanes.low);
    _mm256_maskstore_ps(to + detail::half, detail::half_mask(count - detail::half), lanes.high);
  }
}
/// Stores all lanes to a whole cache line, past the caches: it is not fetched before it is written and pushes nothing
/// out.
inline void store_past_caches(float* to, Simd lanes) {
  _mm256_stream_ps(to, lanes.low);
  _mm256_stream_ps(to + detail::half, lanes.high);
}

/// Returns the same lanes, read from memory only once: GCC 12 else reads them anew for each multiplication by them.
inline Simd in_register(Simd lanes) {
  asm("" : "+x"(lanes.low), "+x"(lanes.high));
  return lanes;
}

/// Returns the sum of the lanes, halves added to halves.
inline float sum_of(Simd lanes) { return sum_of(_mm256_add_ps(lanes.low, lanes.high)); }
/// Returns the first `count` lanes of a, the others of b.
inline Simd first_lanes(Simd a, std::int64_t count, Simd b) {
  if (count >= simd_width) return a;
  const __m256i low = detail::half_mask(count), high = detail::half_mask(count - detail::half);
  return {_mm256_blendv_ps(b.low, a.low, _mm256_castsi256_ps(low)),
          _mm256_blendv_ps(b.high, a.high, _mm256_castsi256_ps(high))};
}

}  // namespace shardmark::kernels

#endif
