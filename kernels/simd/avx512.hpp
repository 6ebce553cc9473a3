// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/simd/lane_number.hpp"

#ifdef SHARDMARK_AVX512

namespace shardmark::kernels {

/// The zero-masking forms take this mask: GCC 12 warns of its own uninitialised operand in the plain ones.
inline constexpr __mmask16 all_lanes = 0xffff;
inline constexpr bool many_registers = true;  ///< 32 Simd, not 8 or fewer

struct Simd {
  __m512 v;

  Simd() = default;
  Simd(__m512 lanes) : v(lanes) {}
  Simd(float value) : v(_mm512_set1_ps(value)) {}

  friend Simd operator+(Simd a, Simd b) { return _mm512_add_ps(a.v, b.v); }
  friend Simd operator-(Simd a, Simd b) { return _mm512_sub_ps(a.v, b.v); }
  friend Simd operator*(Simd a, Simd b) { return _mm512_mul_ps(a.v, b.v); }
  friend Simd operator/(Simd a, Simd b) { return _mm512_div_ps(a.v, b.v); }
  friend Simd fused(Simd a, Simd b, Simd c) { return _mm512_fmadd_ps(a.v, b.v, c.v); }
  friend Simd square_root(Simd a) { return _mm512_maskz_sqrt_ps(all_lanes, a.v); }
  friend Simd larger(Simd a, Simd b) { return _mm512_maskz_max_ps(all_lanes, b.v, a.v); }
  friend Simd smaller(Simd a, Simd b) { return _mm512_maskz_min_ps(all_lanes, b.v, a.v); }
  /// Returns lane by lane c where a == b, else 0.
  friend Simd where_equal(Simd a, Simd b, Simd c) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ), c.v);
  }
};

namespace detail {
inline __m512 with_zeros(__m256 half) {
  return _mm512_castpd_ps(_mm512_maskz_insertf64x4(0xff, _mm512_setzero_pd(), _mm256_castps_pd(half), 0));
}
template <int number>
__m256 half_of(__m512 v) {
  return _mm256_castpd_ps(_mm512_maskz_extractf64x4_pd(0xf, _mm512_castps_pd(v), number));
}
inline __mmask16 lane_mask(std::int64_t count) { return static_cast<__mmask16>((1U << count) - 1U); }
inline __m256i load_words(const void* from, std::int64_t count) {
  if (count >= simd_width) return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  return _mm256_maskz_loadu_epi16(lane_mask(count), from);
}
}  // namespace detail

inline Simd load_simd(const float* from, std::int64_t count) {
  if (count >= simd_width) return {_mm512_loadu_ps(from)};
  if (count == 8) return {detail::with_zeros(_mm256_loadu_ps(from))};
  if (count == 4) return {_mm512_maskz_insertf32x4(all_lanes, _mm512_setzero_ps(), _mm_loadu_ps(from), 0)};
  return {_mm512_maskz_loadu_ps(detail::lane_mask(count), from)};
}
inline Simd load_simd(const Fp16* from, std::int64_t count) {
  return {_mm512_maskz_cvtph_ps(all_lanes, detail::load_words(from, count))};
}
inline Simd load_simd(const Bf16* from, std::int64_t count) {
  const __m512i words = _mm512_maskz_cvtepu16_epi32(all_lanes, detail::load_words(from, count));
  return {_mm512_castsi512_ps(_mm512_maskz_slli_epi32(all_lanes, words, 16))};
}
inline Simd load_simd(const std::uint8_t* from, std::int64_t count) {
  const __m128i bytes = count >= simd_width ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))
                                            : _mm_maskz_loadu_epi8(detail::lane_mask(count), from);
  return {_mm512_maskz_cvtepi32_ps(all_lanes, _mm512_maskz_cvtepu8_epi32(all_lanes, bytes))};
}
inline void store_simd(float* to, Simd lanes, std::int64_t count) {
  if (count >= simd_width) return _mm512_storeu_ps(to, lanes.v);
  if (count == 8) return _mm256_storeu_ps(to, detail::half_of<0>(lanes.v));
  if (count == 4) return _mm_storeu_ps(to, _mm256_castps256_ps128(detail::half_of<0>(lanes.v)));
  _mm512_mask_storeu_ps(to, detail::lane_mask(count), lanes.v);
}
/// Stores all lanes to a whole cache line, past the caches: it is not fetched before it is written and pushes nothing
/// out.
inline void store_past_caches(float* to, Simd lanes) { _mm512_stream_ps(to, lanes.v); }

/// Returns the same lanes, read from memory only once: GCC 12 else reads them anew for each multiplication by them.
inline Simd in_register(Simd lanes) {
  asm("" : "+v"(lanes.v));
  return lanes;
}

/// Returns the sum of the lanes, halves added to halves.
inline float sum_of(Simd lanes) {
  return sum_of(_mm256_add_ps(detail::half_of<0>(lanes.v), detail::half_of<1>(lanes.v)));
}
/// Returns the first `count` lanes of a, the others of b.
inline Simd first_lanes(Simd a, std::int64_t count, Simd b) {
  return count >= simd_width ? a : Simd(_mm512_mask_mov_ps(b.v, detail::lane_mask(count), a.v));
}

}  // namespace shardmark::kernels

#endif
