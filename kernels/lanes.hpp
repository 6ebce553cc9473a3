// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "reference/value_type.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && !defined(__CUDACC__)
#define SHARDMARK_AVX512
#endif
#if defined(__SSE2__) && !defined(__CUDACC__)
#define SHARDMARK_SSE2
#include <immintrin.h>
#endif

namespace shardmark::kernels {

/// 16 consecutive columns in fp32: one register where there is AVX-512, else an array for the compiler's own vectors.
/// (Written out, because GCC 12's code for fp16, bf16 and int8 rows is 2 to 5 times slower.) Loads and stores take how
/// many of the lanes exist; the others load 0 and are not touched in memory.
inline constexpr std::int64_t lane_count = 16;

#ifdef SHARDMARK_AVX512

/// For the zero-masking forms: GCC 12 warns of its own uninitialised operand in the plain ones.
inline constexpr __mmask16 all_lanes = 0xffff;

struct Lanes {
  __m512 v;

  static Lanes of(float value) { return {_mm512_set1_ps(value)}; }

  friend Lanes operator+(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
  friend Lanes operator*(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
  friend Lanes operator/(Lanes a, Lanes b) { return {_mm512_div_ps(a.v, b.v)}; }
  /// a < b ? b : a
  friend Lanes larger(Lanes a, Lanes b) { return {_mm512_maskz_max_ps(all_lanes, b.v, a.v)}; }
  /// a == b ? c : 0
  friend Lanes where_equal(Lanes a, Lanes b, Lanes c) {
    return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ), c.v)};
  }
};

namespace detail {
inline __mmask16 lane_mask(std::int64_t count) { return static_cast<__mmask16>((1U << count) - 1U); }
inline __m256i load_words(const void* from, std::int64_t count) {
  if (count >= lane_count) return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  return _mm256_maskz_loadu_epi16(lane_mask(count), from);
}
}  // namespace detail

inline Lanes load_lanes(const float* from, std::int64_t count) {
  if (count >= lane_count) return {_mm512_loadu_ps(from)};
  return {_mm512_maskz_loadu_ps(detail::lane_mask(count), from)};
}
inline Lanes load_lanes(const Fp16* from, std::int64_t count) {
  return {_mm512_maskz_cvtph_ps(all_lanes, detail::load_words(from, count))};
}
inline Lanes load_lanes(const Bf16* from, std::int64_t count) {
  const __m512i words = _mm512_maskz_cvtepu16_epi32(all_lanes, detail::load_words(from, count));
  return {_mm512_castsi512_ps(_mm512_maskz_slli_epi32(all_lanes, words, 16))};
}
inline Lanes load_lanes(const std::uint8_t* from, std::int64_t count) {
  const __m128i bytes = count >= lane_count ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))
                                            : _mm_maskz_loadu_epi8(detail::lane_mask(count), from);
  return {_mm512_maskz_cvtepi32_ps(all_lanes, _mm512_maskz_cvtepu8_epi32(all_lanes, bytes))};
}
inline void store_lanes(float* to, Lanes lanes, std::int64_t count) {
  if (count >= lane_count) return _mm512_storeu_ps(to, lanes.v);
  _mm512_mask_storeu_ps(to, detail::lane_mask(count), lanes.v);
}
/// All lanes to a whole cache line, past the caches: it is not fetched before it is written and pushes nothing out.
inline void store_past_caches(float* to, Lanes lanes) { _mm512_stream_ps(to, lanes.v); }

#else

struct Lanes {
  float v[lane_count];

  template <class Of>
  KOKKOS_FORCEINLINE_FUNCTION static Lanes each(const Of& of) {
    Lanes lanes;
    for (std::int64_t i = 0; i < lane_count; ++i) lanes.v[i] = of(i);
    return lanes;
  }
  KOKKOS_FORCEINLINE_FUNCTION static Lanes of(float value) {
    return each([&](std::int64_t) { return value; });
  }

  KOKKOS_FORCEINLINE_FUNCTION friend Lanes operator+(const Lanes& a, const Lanes& b) {
    return each([&](std::int64_t i) { return a.v[i] + b.v[i]; });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Lanes operator*(const Lanes& a, const Lanes& b) {
    return each([&](std::int64_t i) { return a.v[i] * b.v[i]; });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Lanes operator/(const Lanes& a, const Lanes& b) {
    return each([&](std::int64_t i) { return a.v[i] / b.v[i]; });
  }
  /// a < b ? b : a
  KOKKOS_FORCEINLINE_FUNCTION friend Lanes larger(const Lanes& a, const Lanes& b) {
    return each([&](std::int64_t i) { return a.v[i] < b.v[i] ? b.v[i] : a.v[i]; });
  }
  /// a == b ? c : 0
  KOKKOS_FORCEINLINE_FUNCTION friend Lanes where_equal(const Lanes& a, const Lanes& b, const Lanes& c) {
    return each([&](std::int64_t i) { return a.v[i] == b.v[i] ? c.v[i] : 0.0F; });
  }
};

template <class T>
KOKKOS_FORCEINLINE_FUNCTION Lanes load_lanes(const T* from, std::int64_t count) {
  return Lanes::each([&](std::int64_t i) { return i < count ? to_float(from[i]) : 0.0F; });
}
KOKKOS_FORCEINLINE_FUNCTION Lanes load_lanes(const std::uint8_t* from, std::int64_t count) {
  return Lanes::each([&](std::int64_t i) { return i < count ? static_cast<float>(from[i]) : 0.0F; });
}
KOKKOS_FORCEINLINE_FUNCTION void store_lanes(float* to, const Lanes& lanes, std::int64_t count) {
  for (std::int64_t i = 0; i < Kokkos::min(count, std::int64_t{lane_count}); ++i) to[i] = lanes.v[i];
}
/// All lanes to a whole cache line, past the caches: it is not fetched before it is written and pushes nothing out.
KOKKOS_FORCEINLINE_FUNCTION void store_past_caches(float* to, const Lanes& lanes) {
#ifdef SHARDMARK_SSE2
  for (std::int64_t i = 0; i < lane_count; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(lanes.v + i));
#else
  store_lanes(to, lanes, lane_count);
#endif
}

#endif

/// Sum of the lanes, halves added to halves.
KOKKOS_INLINE_FUNCTION float sum_of(const Lanes& lanes) {
  float sum[lane_count];
  store_lanes(sum, lanes, lane_count);
  for (std::int64_t half = lane_count / 2; half > 0; half /= 2)
    for (std::int64_t i = 0; i < half; ++i) sum[i] += sum[i + half];
  return sum[0];
}

/// Before other threads may read what this one stored past the caches.
KOKKOS_FORCEINLINE_FUNCTION void finish_stores_past_caches() {
#ifdef SHARDMARK_SSE2
  _mm_sfence();
#endif
}

/// Whether vectors of `dim` floats from `first` on, `stride` floats apart, are whole cache lines.
KOKKOS_INLINE_FUNCTION bool whole_cache_lines(const float* first, std::int64_t stride, std::int64_t dim) {
  return reinterpret_cast<std::uintptr_t>(first) % 64 == 0 && stride % lane_count == 0 && dim % lane_count == 0;
}

}  // namespace shardmark::kernels
