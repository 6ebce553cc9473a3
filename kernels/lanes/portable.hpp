// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lanes/lane_number.hpp"

namespace shardmark::kernels {

inline constexpr bool many_registers = false;  ///< 32 Lanes, not 8 or fewer

struct Lanes {
  float v[lane_count];

  Lanes() = default;
  KOKKOS_FORCEINLINE_FUNCTION Lanes(float value) {
    SHARDMARK_SIMD for (std::int64_t i = 0; i < lane_count; ++i) v[i] = value;
  }

  template <class Of>
  KOKKOS_FORCEINLINE_FUNCTION static Lanes each(const Of& of) {
    Lanes lanes;
    SHARDMARK_SIMD for (std::int64_t i = 0; i < lane_count; ++i) lanes.v[i] = of(i);
    return lanes;
  }

  KOKKOS_FORCEINLINE_FUNCTION friend Lanes operator+(const Lanes& a, const Lanes& b) {
    return each([&](std::int64_t i) { return a.v[i] + b.v[i]; });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Lanes operator-(const Lanes& a, const Lanes& b) {
    return each([&](std::int64_t i) { return a.v[i] - b.v[i]; });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Lanes operator*(const Lanes& a, const Lanes& b) {
    return each([&](std::int64_t i) { return a.v[i] * b.v[i]; });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Lanes operator/(const Lanes& a, const Lanes& b) {
    return each([&](std::int64_t i) { return a.v[i] / b.v[i]; });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Lanes fused(const Lanes& a, const Lanes& b, const Lanes& c) {
    return each([&](std::int64_t i) { return kernels::fused(a.v[i], b.v[i], c.v[i]); });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Lanes square_root(const Lanes& a) {
    return each([&](std::int64_t i) { return kernels::square_root(a.v[i]); });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Lanes larger(const Lanes& a, const Lanes& b) {
    return each([&](std::int64_t i) { return kernels::larger(a.v[i], b.v[i]); });
  }
  KOKKOS_FORCEINLINE_FUNCTION friend Lanes smaller(const Lanes& a, const Lanes& b) {
    return each([&](std::int64_t i) { return kernels::smaller(a.v[i], b.v[i]); });
  }
  /// Returns lane by lane c where a == b, else 0.
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
/// Stores all lanes to a whole cache line, past the caches: it is not fetched before it is written and pushes nothing
/// out.
KOKKOS_FORCEINLINE_FUNCTION void store_past_caches(float* to, const Lanes& lanes) {
#ifdef SHARDMARK_SSE2
  for (std::int64_t i = 0; i < lane_count; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(lanes.v + i));
#else
  store_lanes(to, lanes, lane_count);
#endif
}

/// Returns the same lanes; the Lanes of registers need this function.
KOKKOS_FORCEINLINE_FUNCTION const Lanes& in_register(const Lanes& lanes) { return lanes; }

/// Returns the sum of the lanes, halves added to halves.
template <std::int64_t Half = lane_count / 2>
KOKKOS_FORCEINLINE_FUNCTION float sum_of(Lanes lanes) {
  SHARDMARK_SIMD for (std::int64_t i = 0; i < Half; ++i) lanes.v[i] += lanes.v[i + Half];
  if constexpr (Half > 1)
    return sum_of<Half / 2>(lanes);
  else
    return lanes.v[0];
}
/// Returns the first `count` lanes of a, the others of b.
KOKKOS_FORCEINLINE_FUNCTION Lanes first_lanes(const Lanes& a, std::int64_t count, const Lanes& b) {
  return Lanes::each([&](std::int64_t i) { return i < count ? a.v[i] : b.v[i]; });
}

}  // namespace shardmark::kernels
