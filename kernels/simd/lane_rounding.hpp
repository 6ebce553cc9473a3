// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/simd.hpp"
#include "reference/rounding.hpp"

// These functions round Simd to fp16 and bf16, of which the first `count` are stored: to nearest as rounded_to does,
// or as stochastically_rounded_to does with the rounding_bits of `row_bits` and columns `column`, column + 1, ..
// With AVX-512 they use vectors of words, else they go number by number: GCC 12 takes such vectors apart for AVX2.

namespace shardmark::kernels {

template <class T>
concept HalfPrecision = std::is_same_v<T, Fp16> || std::is_same_v<T, Bf16>;

#ifdef SHARDMARK_AVX512

namespace detail {
using Words = std::uint32_t __attribute__((vector_size(64)));
using Integers = std::int32_t __attribute__((vector_size(64)));
using Floats = float __attribute__((vector_size(64)));
using LongWords = std::uint64_t __attribute__((vector_size(64)));
using FourLongWords = std::uint64_t __attribute__((vector_size(32)));

inline Words words_of(Simd lanes) { return reinterpret_cast<Words>(lanes.v); }
inline Words all_equal(std::uint32_t word) { return Words{} + word; }

/// Returns 16 random bits of each column, from `column` on: element k of the 16-bit words goes to the upper half of
/// word k.
inline Words rounding_words(std::uint64_t row_bits, std::int64_t column) {
  const auto first = static_cast<std::uint64_t>(column / 4);
  __m512i numbers;
  if (column % 4 == 0) {
    const FourLongWords four = next_random_bits(row_bits, FourLongWords{0, 1, 2, 3} + first);
    numbers = _mm512_maskz_inserti64x4(0xff, _mm512_setzero_si512(), reinterpret_cast<__m256i>(four), 0);
  } else {
    numbers = reinterpret_cast<__m512i>(next_random_bits(row_bits, LongWords{0, 1, 2, 3, 4, 5, 6, 7} + first));
  }
  constexpr Words elements{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  constexpr __mmask32 upper_halves = 0xaaaaaaaaU;
  const Words from = (elements + static_cast<std::uint32_t>(column % 4)) << 16;
  return reinterpret_cast<Words>(
      _mm512_maskz_permutexvar_epi16(upper_halves, reinterpret_cast<__m512i>(from), numbers));
}

inline bool all_below(Words words, std::uint32_t bound) {
  return _mm512_cmplt_epu32_mask(reinterpret_cast<__m512i>(words), _mm512_set1_epi32(static_cast<int>(bound))) ==
         all_lanes;
}

// These are the functions of the same names in reference/value_type.hpp, for 16 numbers.

inline Words bf16_of(Words bits, Words below) {
  const Words sign = bits & 0x80000000U;
  const Words magnitude = bits ^ sign;
  const Words finite = magnitude + below < 0x7f800000U ? magnitude + below : all_equal(0x7f7fffffU);
  const Words special = magnitude > 0x7f800000U ? all_equal(0x7fc00000U) : magnitude;
  return (sign | (magnitude < 0x7f800000U ? finite : special)) >> 16;
}
inline Words fp16_of(Words bits, Words normal, Words subnormal) {
  const Words magnitude = bits & 0x7fffffffU;
  const Words largest = normal < 0x7c00U ? normal : all_equal(0x7bffU);
  const Words finite = magnitude < 0x38800000U ? subnormal : largest;
  const Words special = magnitude > 0x7f800000U ? all_equal(0x7e00U) : all_equal(0x7c00U);
  return (bits >> 31) << 15 | (magnitude < 0x7f800000U ? finite : special);
}
inline Words fp16_normal(Words bits, Words below) {
  const Words magnitude = bits & 0x7fffffffU;
  return magnitude < 0x47800000U ? (magnitude + below - 0x38000000U) >> 13 : all_equal(0x7c00U);
}
// Most often all 16 are numbers of the usual size, and need none of the choices.

inline Words stochastically_rounded_to(Words bits, Words random, Bf16) {
  const Words below = random >> 16;
  return all_below(bits & 0x7fffffffU, 0x7f7f0000U) ? (bits + below) >> 16 : bf16_of(bits, below);
}
inline Words stochastically_rounded_to(Words bits, Words random, Fp16) {
  const Words normal = (bits & 0x7fffffffU) - 0x38800000U;
  if (all_below(normal, 0x477fe000U - 0x38800000U))
    return (bits >> 31) << 15 | (((normal + (random >> 19)) >> 13) + 0x400U);
  const auto magnitude = reinterpret_cast<Floats>(bits & 0x7fffffffU);
  const Floats quanta = magnitude < 0x1p-14F ? magnitude * 0x1p24F : Floats{};
  const auto whole = __builtin_convertvector(quanta, Integers);
  const Floats random_part = __builtin_convertvector(reinterpret_cast<Integers>(random >> 8), Floats) * 0x1p-24F;
  const Integers up = random_part < quanta - __builtin_convertvector(whole, Floats);  // -1 where true
  return fp16_of(bits, fp16_normal(bits, random >> 19), reinterpret_cast<Words>(whole - up));
}

inline __m256i lower_halves(Words words) {
  return _mm512_maskz_cvtepi32_epi16(all_lanes, reinterpret_cast<__m512i>(words));
}
inline __m256i rounded_halves(Words bits, Bf16) {
  const Words below = 0x7fffU + (bits >> 16 & 1U);
  return lower_halves(all_below(bits & 0x7fffffffU, 0x7f7f8000U) ? (bits + below) >> 16 : bf16_of(bits, below));
}
/// Converts by the processor's instruction, which gets finite numbers that do not become infinite, and one NaN.
inline __m256i rounded_halves(Words bits, Fp16) {
  const Words sign = bits & 0x80000000U;
  const Words magnitude = bits ^ sign;
  if (!all_below(magnitude, 0x477fe000U)) {
    const Words finite = magnitude < 0x477fe000U ? magnitude : all_equal(0x477fe000U);
    const Words special = magnitude > 0x7f800000U ? all_equal(0x7fc00000U) : magnitude;
    bits = sign | (magnitude < 0x7f800000U ? finite : special);
  }
  return _mm512_maskz_cvtps_ph(all_lanes, reinterpret_cast<__m512>(bits), _MM_FROUND_TO_NEAREST_INT);
}

inline void store_halves(void* to, __m256i halves, std::int64_t count) {
  if (count >= simd_width) return _mm256_storeu_si256(static_cast<__m256i*>(to), halves);
  _mm256_mask_storeu_epi16(to, lane_mask(count), halves);
}
}  // namespace detail

template <HalfPrecision T>
void store_simd(T* to, Simd lanes, std::int64_t count) {
  detail::store_halves(to, detail::rounded_halves(detail::words_of(lanes), T{}), count);
}
template <HalfPrecision T>
void store_stochastically(T* to, Simd lanes, std::uint64_t row_bits, std::int64_t column, std::int64_t count) {
  const detail::Words random = detail::rounding_words(row_bits, column);
  const detail::Words rounded = detail::stochastically_rounded_to(detail::words_of(lanes), random, T{});
  detail::store_halves(to, detail::lower_halves(rounded), count);
}

#else

template <HalfPrecision T>
KOKKOS_FORCEINLINE_FUNCTION void store_simd(T* to, const Simd& lanes, std::int64_t count) {
  float each[simd_width];
  store_simd(each, lanes, simd_width);
  count = Kokkos::min(count, std::int64_t{simd_width});
  SHARDMARK_SIMD for (std::int64_t c = 0; c < count; ++c) to[c] = rounded_to<T>(each[c]);
}
template <HalfPrecision T>
KOKKOS_FORCEINLINE_FUNCTION void store_stochastically(T* to, const Simd& lanes, std::uint64_t row_bits,
                                                      std::int64_t column, std::int64_t count) {
  float each[simd_width];
  store_simd(each, lanes, simd_width);
  count = Kokkos::min(count, std::int64_t{simd_width});
  for (std::int64_t c = 0; c < count; ++c)
    to[c] = stochastically_rounded_to<T>(each[c], rounding_bits(row_bits, column + c));
}

#endif

}  // namespace shardmark::kernels
