// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/tensor_train/row_cache.hpp"

namespace shardmark::kernels {

/// Gives the count slots of one set: a hash table by linear probing, which a row that is deleted leaves without a trace
/// (Knuth, The Art of Computer Programming 3, 6.4, Algorithm R), so that no tombstones hide rows or wear the slots out.
struct CountSlots {
  const RowCacheShape& shape;
  std::int64_t* rows;     ///< [shape.count_slots] or row_not_cached
  std::int64_t* uses;     ///< [shape.count_slots] 0 where there is no row
  std::int64_t* counted;  ///< [1] rows

  /// Adds uses to a row; returns whether it was counted already or there was room for it.
  KOKKOS_INLINE_FUNCTION bool add(std::int64_t row, std::int64_t row_uses) const {
    std::int64_t s = shape.first_slot(row);
    for (std::int64_t tried = 0; rows[s] != row; ++tried, s = next(s)) {
      if (tried == shape.count_slots) return false;
      if (rows[s] != row_not_cached) continue;
      rows[s] = row;
      *counted += 1;
      break;
    }
    uses[s] += row_uses;
    return true;
  }

  /// Deletes the rows without uses. It counts them first, since a row may move from in front of the sweep to behind it,
  /// around the end.
  KOKKOS_INLINE_FUNCTION void forget_unused() const {
    std::int64_t unused = 0;
    for (std::int64_t s = 0; s < shape.count_slots; ++s) unused += is_unused(s);
    for (std::int64_t s = 0; unused > 0; s = next(s))
      for (; is_unused(s); --unused) erase(s);
  }

 private:
  KOKKOS_INLINE_FUNCTION bool is_unused(std::int64_t s) const { return rows[s] != row_not_cached && uses[s] == 0; }
  KOKKOS_INLINE_FUNCTION std::int64_t next(std::int64_t s) const { return s + 1 < shape.count_slots ? s + 1 : 0; }
  /// Returns the number of slots from a to b, cyclically.
  KOKKOS_INLINE_FUNCTION std::int64_t distance(std::int64_t a, std::int64_t b) const {
    return b >= a ? b - a : b - a + shape.count_slots;
  }
  /// Deletes the row in `hole`. Rows behind the hole move into it, which moves the hole, unless a search for them would
  /// begin behind it.
  KOKKOS_INLINE_FUNCTION void erase(std::int64_t hole) const {
    clear(hole);
    for (std::int64_t s = next(hole); rows[s] != row_not_cached; s = next(s)) {
      if (distance(shape.first_slot(rows[s]), s) < distance(hole, s)) continue;
      rows[hole] = rows[s];
      uses[hole] = uses[s];
      clear(s);
      hole = s;
    }
    *counted -= 1;
  }
  KOKKOS_INLINE_FUNCTION void clear(std::int64_t s) const {
    rows[s] = row_not_cached;
    uses[s] = 0;
  }
};

template <class Exec>
KOKKOS_INLINE_FUNCTION CountSlots count_slots(const RowCacheArrays<Exec>& cache, std::int64_t set) {
  const std::int64_t first = set * cache.shape.count_slots;
  return {cache.shape, cache.counted_rows.data() + first, cache.counted_uses.data() + first,
          cache.counted.data() + set};
}

}  // namespace shardmark::kernels
