// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/simd/lane_number.hpp"

namespace shardmark::kernels {

inline constexpr bool many_registers = false;  ///< 32 Simd, not 8 or fewer

struct Simd {
  float v[simd_width];

  Simd() = default;
  KOKKOS_FORCEINLINE_FUNCTION Simd(float value) {
    SHARDMARK_SIMD for (std::int64_t i = 0; i < simd_width; ++i) v[i] = value;
  }

  template <class Of>
  KOKKOS_FORCEINLINE_FUNCTION static Simd each(const Of& of) {
    Simd lanes;
    SHARDMARK_SIMD for (std::int64_t i = 0; i < simd_width; ++i) lanes.v[i] = of(i);
    return lanes;
  }

  KOKKOS_FORCEINLINE_FUNCTION friend Simd operator+(const Simd& a, const Simd& b) {
    return each([&](std::int64_t i) { return a.v[i] + b.v[i]; });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Simd operator-(const Simd& a, const Simd& b) {
    return each([&](std::int64_t i) { return a.v[i] - b.v[i]; });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Simd operator*(const Simd& a, const Simd& b) {
    return each([&](std::int64_t i) { return a.v[i] * b.v[i]; });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Simd operator/(const Simd& a, const Simd& b) {
    return each([&](std::int64_t i) { return a.v[i] / b.v[i]; });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Simd fused(const Simd& a, const Simd& b, const Simd& c) {
    return each([&](std::int64_t i) { return kernels::fused(a.v[i], b.v[i], c.v[i]); });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Simd square_root(const Simd& a) {
    return each([&](std::int64_t i) { return kernels::square_root(a.v[i]); });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Simd larger(const Simd& a, const Simd& b) {
    return each([&](std::int64_t i) { return kernels::larger(a.v[i], b.v[i]); });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Simd smaller(const Simd& a, const Simd& b) {
    return each([&](std::int64_t i) { return kernels::smaller(a.v[i], b.v[i]); });
  }
  /// Returns lane by lane c where a == b, else 0.
  KOKKOS_FORCEINLINE_FUNCTION friend Simd where_equal(const Simd& a, const Simd& b, const Simd& c) {
    return each([&](std::int64_t i) { return a.v[i] == b.v[i] ? c.v[i] : 0.0F; });
  }
};

template <class T>
KOKKOS_FORCEINLINE_FUNCTION Simd load_simd(const T* from, std::int64_t count) {
  return Simd::each([&](std::int64_t i) { return i < count ? to_float(from[i]) : 0.0F; });
}
KOKKOS_FORCEINLINE_FUNCTION Simd load_simd(const std::uint8_t* from, std::int64_t count) {
  return Simd::each([&](std::int64_t i) { return i < count ? static_cast<float>(from[i]) : 0.0F; });
}
KOKKOS_FORCEINLINE_FUNCTION void store_simd(float* to, const Simd& lanes, std::int64_t count) {
  for (std::int64_t i = 0; i < Kokkos::min(count, std::int64_t{simd_width}); ++i) to[i] = lanes.v[i];
}
/// Stores all lanes to a whole cache line, past the caches: it is not fetched before it is written and pushes nothing
/// out.
KOKKOS_FORCEINLINE_FUNCTION void store_past_caches(float* to, const Simd& lanes) {
#ifdef SHARDMARK_SSE2
  for (std::int64_t i = 0; i < simd_width; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(lanes.v + i));
#else
  store_simd(to, lanes, simd_width);
#endif
}

/// Returns the same lanes; the Simd of registers need this function.
KOKKOS_FORCEINLINE_FUNCTION const Simd& in_register(const Simd& lanes) { return lanes; }

/// Returns the sum of the lanes, halves added to halves.
template <std::int64_t Half = simd_width / 2>
KOKKOS_FORCEINLINE_FUNCTION float sum_of(Simd lanes) {
  SHARDMARK_SIMD for (std::int64_t i = 0; i < Half; ++i) lanes.v[i] += lanes.v[i + Half];
  if constexpr (Half > 1)
    return sum_of<Half / 2>(lanes);
  else
    return lanes.v[0];
}
/// Returns the first `count` lanes of a, the others of b.
KOKKOS_FORCEINLINE_FUNCTION Simd first_lanes(const Simd& a, std::int64_t count, const Simd& b) {
  return Simd::each([&](std::int64_t i) { return i < count ? a.v[i] : b.v[i]; });
}

}  // namespace shardmark::kernels
