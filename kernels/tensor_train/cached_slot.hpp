// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/tensor_train/row_cache.hpp"

namespace shardmark::kernels {

/// Of a copy of a row that no version of the cores has given yet.
inline constexpr std::int64_t no_version = -1;

/// 128 for a way that is taken, and the bits of the hash that have no part in choosing the set.
KOKKOS_INLINE_FUNCTION constexpr std::uint64_t tag_of(std::uint64_t hash) { return 128 | (hash & 127); }

/// A search for one row among the ways of its set. Eight tags are compared at a time (as in the buckets of MemC3 and
/// the groups of Swiss tables), so that of a set of 256 bytes of rows mostly one line is read.
class CachedRowSearch {
 public:
  template <class Exec>
  KOKKOS_FORCEINLINE_FUNCTION void ask_for_tags(const RowCacheArrays<Exec>& cache, std::int64_t row) {
    const std::uint64_t hash = RowCacheShape::hash(row);
    tag_ = tag_of(hash);
    set_ = cache.shape.set_of(row);
    prefetch_near(cache.tags.data() + set_ * cache.tag_words, 4);
  }
  template <class Exec>
  KOKKOS_FORCEINLINE_FUNCTION void ask_for_rows(const RowCacheArrays<Exec>& cache) {
    candidates_ = candidates(cache);
    if (candidates_ == 0) return;
    const std::int64_t slot = set_ * cache.shape.ways + first_way(candidates_);
    prefetch_near(cache.rows.data() + slot, 4);
    if (cache.versions.extent(0) > 0) prefetch_near(cache.versions.data() + slot, 4);
  }
  /// Or row_not_cached.
  template <class Exec>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t slot(const RowCacheArrays<Exec>& cache, std::int64_t row) const {
    for (std::uint64_t left = candidates_; left != 0; left &= left - 1) {
      const std::int64_t slot = set_ * cache.shape.ways + first_way(left);
      if (cache.rows(slot) == row) return slot;
    }
    return row_not_cached;
  }

 private:
  /// Bit 8 b + w for byte b of word w where the tag is equal, or rarely where the byte below it is.
  template <class Exec>
  KOKKOS_FORCEINLINE_FUNCTION std::uint64_t candidates(const RowCacheArrays<Exec>& cache) const {
    constexpr std::uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    std::uint64_t found = 0;
    for (std::int64_t w = 0; w < cache.tag_words; ++w) {
      const std::uint64_t other = cache.tags(set_ * cache.tag_words + w) ^ tag_ * ones;
      found |= ((other - ones) & ~other & tops) >> (7 - w);
    }
    return found;
  }
  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t first_way(std::uint64_t candidates) {
    const int bit = Kokkos::countr_zero(candidates);
    return bit % 8 * 8 + bit / 8;
  }

  std::int64_t set_;
  std::uint64_t tag_, candidates_;
};

/// The slot of a row, or row_not_cached.
template <class Exec>
KOKKOS_INLINE_FUNCTION std::int64_t slot_of(const RowCacheArrays<Exec>& cache, std::int64_t row) {
  CachedRowSearch search;
  search.ask_for_tags(cache, row);
  search.ask_for_rows(cache);
  return search.slot(cache, row);
}

}  // namespace shardmark::kernels
