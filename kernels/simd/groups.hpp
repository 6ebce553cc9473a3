// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/simd.hpp"

// These functions see Simd as groups of Width (4 or 8) numbers: short rows beside each other, where a row for each
// Simd would leave most of them empty. Rows are `stride` numbers apart.

namespace shardmark::kernels {

/// Loads from[j / Width * stride + j % 4] into lane j: the first four numbers of a row, once or twice.
template <int Width>
KOKKOS_FORCEINLINE_FUNCTION Simd load_fours(const float* from, std::int64_t stride);
/// Loads from[j % Width] into lane j.
template <int Width>
KOKKOS_FORCEINLINE_FUNCTION Simd load_repeated(const float* from);
/// Loads from[j / Width * stride + j % Width] into lane j.
template <int Width>
KOKKOS_FORCEINLINE_FUNCTION Simd load_groups(const float* from, std::int64_t stride);
template <int Width>
KOKKOS_FORCEINLINE_FUNCTION void store_groups(float* to, std::int64_t stride, const Simd& lanes);
/// Copies lane j / 4 * 4 + Place to lane j.
template <int Place>
KOKKOS_FORCEINLINE_FUNCTION Simd spread_in_fours(const Simd& lanes);

#if defined(SHARDMARK_AVX512)

namespace detail {
/// Returns four numbers, four times.
inline __m512 four_times(const float* from) { return _mm512_maskz_broadcast_f32x4(all_lanes, _mm_loadu_ps(from)); }
inline __m512 twice(const float* from) { return _mm512_maskz_broadcast_f32x8(all_lanes, _mm256_loadu_ps(from)); }
}  // namespace detail

template <int Width>
Simd load_fours(const float* from, std::int64_t stride) {
  __m512 rows = detail::four_times(from);
  constexpr unsigned group = (1U << Width) - 1U;
  for (int i = 1; i < simd_width / Width; ++i)
    rows =
        _mm512_mask_broadcast_f32x4(rows, static_cast<__mmask16>(group << i * Width), _mm_loadu_ps(from + i * stride));
  return rows;
}
template <int Width>
Simd load_repeated(const float* from) {
  if constexpr (Width == 4)
    return detail::four_times(from);
  else
    return detail::twice(from);
}
template <int Width>
Simd load_groups(const float* from, std::int64_t stride) {
  if constexpr (Width == 4)
    return load_fours<4>(from, stride);
  else
    return _mm512_mask_broadcast_f32x8(detail::twice(from), 0xff00, _mm256_loadu_ps(from + stride));
}
template <int Width>
void store_groups(float* to, std::int64_t stride, const Simd& lanes) {
  const __m256 low = detail::half_of<0>(lanes.v), high = detail::half_of<1>(lanes.v);
  if constexpr (Width == 4) {
    _mm_storeu_ps(to, _mm256_castps256_ps128(low));
    _mm_storeu_ps(to + stride, _mm256_extractf128_ps(low, 1));
    _mm_storeu_ps(to + 2 * stride, _mm256_castps256_ps128(high));
    _mm_storeu_ps(to + 3 * stride, _mm256_extractf128_ps(high, 1));
  } else {
    _mm256_storeu_ps(to, low);
    _mm256_storeu_ps(to + stride, high);
  }
}
template <int Place>
Simd spread_in_fours(const Simd& lanes) {
  return _mm512_maskz_permute_ps(all_lanes, lanes.v, Place * 0x55);
}

#elif defined(SHARDMARK_AVX2)

namespace detail {
inline __m256 two_fours(const float* low, const float* high) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}
}  // namespace detail

template <int Width>
Simd load_fours(const float* from, std::int64_t stride) {
  const std::int64_t step = Width == 4 ? stride : 0;
  const float* const high = from + 8 / Width * stride;
  return {detail::two_fours(from, from + step), detail::two_fours(high, high + step)};
}
template <int Width>
Simd load_repeated(const float* from) {
  const __m256 half = detail::two_fours(from, from + Width - 4);
  return {half, half};
}
template <int Width>
Simd load_groups(const float* from, std::int64_t stride) {
  if constexpr (Width == 4)
    return load_fours<4>(from, stride);
  else
    return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + stride)};
}
template <int Width>
void store_groups(float* to, std::int64_t stride, const Simd& lanes) {
  if constexpr (Width == 4) {
    _mm_storeu_ps(to, _mm256_castps256_ps128(lanes.low));
    _mm_storeu_ps(to + stride, _mm256_extractf128_ps(lanes.low, 1));
    _mm_storeu_ps(to + 2 * stride, _mm256_castps256_ps128(lanes.high));
    _mm_storeu_ps(to + 3 * stride, _mm256_extractf128_ps(lanes.high, 1));
  } else {
    _mm256_storeu_ps(to, lanes.low);
    _mm256_storeu_ps(to + stride, lanes.high);
  }
}
template <int Place>
Simd spread_in_fours(const Simd& lanes) {
  return {_mm256_permute_ps(lanes.low, Place * 0x55), _mm256_permute_ps(lanes.high, Place * 0x55)};
}

#else

template <int Width>
KOKKOS_FORCEINLINE_FUNCTION Simd load_fours(const float* from, std::int64_t stride) {
  return Simd::each([&](std::int64_t j) { return from[j / Width * stride + j % 4]; });
}
template <int Width>
KOKKOS_FORCEINLINE_FUNCTION Simd load_repeated(const float* from) {
  return Simd::each([&](std::int64_t j) { return from[j % Width]; });
}
template <int Width>
KOKKOS_FORCEINLINE_FUNCTION Simd load_groups(const float* from, std::int64_t stride) {
  return Simd::each([&](std::int64_t j) { return from[j / Width * stride + j % Width]; });
}
template <int Width>
KOKKOS_FORCEINLINE_FUNCTION void store_groups(float* to, std::int64_t stride, const Simd& lanes) {
  for (std::int64_t j = 0; j < simd_width; ++j) to[j / Width * stride + j % Width] = lanes.v[j];
}
template <int Place>
KOKKOS_FORCEINLINE_FUNCTION Simd spread_in_fours(const Simd& lanes) {
  return Simd::each([&](std::int64_t j) { return lanes.v[j / 4 * 4 + Place]; });
}

#endif

}  // namespace shardmark::kernels
