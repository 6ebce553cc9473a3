// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

// A Simd is 16 consecutive columns in fp32, in one register (AVX-512), two (AVX2) or an array for the compiler's own
// vectors. (It is written out because GCC 12's code for fp16, bf16 and int8 rows is 2 to 5 times slower.) Loads and
// stores take how many of the lanes exist; the others load 0 and are not touched in memory. A float becomes 16 equal
// lanes. 8 floats or 4 are loaded and stored without a mask: a load that follows a masked store waits long for it, and
// a masked load of a row of 32 bytes touches the next cache line.
#include "kernels/simd/lane_number.hpp"
#if defined(SHARDMARK_AVX512)
#include "kernels/simd/avx512.hpp"
#elif defined(SHARDMARK_AVX2)
#include "kernels/simd/avx2.hpp"
#else
#include "kernels/simd/portable.hpp"
#endif

namespace shardmark::kernels {

/// Loads a Number: Simd, or float for the first of them alone.
template <class Number, class T>
KOKKOS_FORCEINLINE_FUNCTION Number load(const T* from, std::int64_t count) {
  if constexpr (std::is_same_v<Number, float>)
    return to_float(*from);
  else
    return load_simd(from, count);
}

/// Waits for the stores past the caches of this thread, before other threads may read what it stored.
KOKKOS_FORCEINLINE_FUNCTION void finish_stores_past_caches() {
#ifdef SHARDMARK_SSE2
  _mm_sfence();
#endif
}

/// Returns whether vectors of `dim` floats from `first` on, `stride` floats apart, are whole cache lines.
KOKKOS_INLINE_FUNCTION bool whole_cache_lines(const float* first, std::int64_t stride, std::int64_t dim) {
  return reinterpret_cast<std::uintptr_t>(first) % 64 == 0 && stride % simd_width == 0 && dim % simd_width == 0;
}

}  // namespace shardmark::kernels

#include "kernels/simd/lane_rounding.hpp"  // stores of fp16 and bf16
