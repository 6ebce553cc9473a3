// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__AVX2__) && !defined(__CUDACC__)
#include <immintrin.h>
#endif

#include "kernels/tensor_train/row_cache.hpp"

namespace shardmark::kernels {

/// This is the version of a copy of a row that no version of the cores has given yet.
inline constexpr std::int64_t no_version = -1;

/// Returns the tag of a row that is cached, in its set: bits of the hash that have no part in choosing the set, and not
/// 0.
KOKKOS_INLINE_FUNCTION constexpr std::uint64_t tag_of(std::int64_t row) {
  const std::uint64_t bits = RowCacheShape::hash(row) & 255;
  return bits + (bits == 0);
}

/// Searches for one row among the ways of its set. The tags are compared all at once, or eight at a time (as in the
/// buckets of MemC3 and the groups of Swiss tables), so that of a set of 256 bytes of rows mostly one line is read.
class CachedRowSearch {
 public:
  template <class Exec>
  KOKKOS_FORCEINLINE_FUNCTION void ask_for_tags(const RowCacheArrays<Exec>& cache, std::int64_t row) {
    tag_ = tag_of(row);
    set_ = cache.shape.set_of(row);
    prefetch_near(cache.tags.data() + set_ * cache.tag_words, 4);
  }
  template <class Exec>
  KOKKOS_FORCEINLINE_FUNCTION void ask_for_rows(const RowCacheArrays<Exec>& cache) {
    candidates_ = candidates(cache);
    prefetch_near(cache.rows.data() + first_slot(cache), 4);
    if (cache.versions.extent(0) > 0) prefetch_near(cache.versions.data() + first_slot(cache), 4);
  }
  /// Returns the slot of the row, or row_not_cached. It has few branches, since no processor can predict whether a row
  /// is cached.
  template <class Exec>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t slot(const RowCacheArrays<Exec>& cache, std::int64_t row) const {
    const std::int64_t first = first_slot(cache);
    const bool found = cache.rows(first) == row;
    std::int64_t slot = found ? first : row_not_cached;
    if (!found && (candidates_ & (candidates_ - 1)) != 0) slot = later_slot(cache, row);
    return slot;
  }

 private:
  /// Returns a mask whose bit w says whether the tag of way w is this one.
  template <class Exec>
  KOKKOS_FORCEINLINE_FUNCTION std::uint64_t candidates(const RowCacheArrays<Exec>& cache) const {
    const std::uint64_t* tags = cache.tags.data() + set_ * cache.tag_words;
#if defined(__AVX2__) && !defined(__CUDACC__)
    if constexpr (!on_device<Exec>) return equal_bytes(tags);
#endif
    constexpr std::uint64_t ones = 0x0101010101010101, low_bits = 127 * ones;
    std::uint64_t found = 0;
    for (std::int64_t word = 0; word < cache.tag_words; ++word) {
      const std::uint64_t other = tags[word] ^ tag_ * ones;
      const std::uint64_t zeros = ~(((other & low_bits) + low_bits) | other | low_bits) >> 7;  // 1 in bytes that are 0
      found |= zeros * 0x0102040810204080 >> 56 << 8 * word;                                   // gathered in one byte
    }
    return found;
  }
#if defined(__AVX2__) && !defined(__CUDACC__)
  std::uint64_t equal_bytes(const std::uint64_t* tags) const {
    const __m256i others = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(tags));
    const __m256i equal = _mm256_cmpeq_epi8(others, _mm256_set1_epi8(static_cast<char>(tag_)));
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(equal));
  }
#endif
  /// Returns the slot of the first candidate, or of way 0 where there is none.
  template <class Exec>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t first_slot(const RowCacheArrays<Exec>& cache) const {
    return set_ * cache.shape.ways + (candidates_ == 0 ? 0 : Kokkos::Experimental::countr_zero_builtin(candidates_));
  }
  template <class Exec>
  KOKKOS_FUNCTION std::int64_t later_slot(const RowCacheArrays<Exec>& cache, std::int64_t row) const {
    for (std::uint64_t left = candidates_ & (candidates_ - 1); left != 0; left &= left - 1) {
      const std::int64_t slot = set_ * cache.shape.ways + Kokkos::Experimental::countr_zero_builtin(left);
      if (cache.rows(slot) == row) return slot;
    }
    return row_not_cached;
  }

  std::int64_t set_;
  std::uint64_t tag_, candidates_;
};

/// Returns the slot of a row, or row_not_cached.
template <class Exec>
KOKKOS_INLINE_FUNCTION std::int64_t slot_of(const RowCacheArrays<Exec>& cache, std::int64_t row) {
  CachedRowSearch search;
  search.ask_for_tags(cache, row);
  search.ask_for_rows(cache);
  return search.slot(cache, row);
}

}  // namespace shardmark::kernels
