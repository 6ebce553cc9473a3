// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace shardmark::kernels {

/// Returns the smallest i in [0, size) with at(i) >= value, or size if there is none; at() never decreases.
template <class At>
KOKKOS_INLINE_FUNCTION std::int64_t first_at_least(std::int64_t size, std::int64_t value, const At& at) {
  std::int64_t begin = 0;
  while (size > 0) {
    const std::int64_t half = size / 2;
    if (at(begin + half) < value) {
      begin += half + 1;
      size -= half + 1;
    } else {
      size = half;
    }
  }
  return begin;
}

/// Returns the largest i in [0, size) with at(i) <= value; at(0) <= value.
template <class At>
KOKKOS_INLINE_FUNCTION std::int64_t last_at_most(std::int64_t size, std::int64_t value, const At& at) {
  return first_at_least(size, value + 1, at) - 1;
}

/// Cuts the items of a CSR (item i holds entries offset_of(i) .. offset_of(i + 1), offset_of(0) == 0) into ranges of
/// about `grain` units of work, where an item costs one unit and an entry another. The cut depends on the data alone,
/// not on the number of threads; an item is never split. (The "merge path" of Merrill and Garland, rounded to items.)
struct BalancedRanges {
  std::int64_t items = 0;
  std::int64_t entries = 0;
  std::int64_t grain = 1;

  std::int64_t count() const { return (items + entries + grain - 1) / grain; }

  /// Returns the first item of range r; range r ends where r + 1 begins.
  template <class OffsetOf>
  KOKKOS_INLINE_FUNCTION std::int64_t begin(std::int64_t r, const OffsetOf& offset_of) const {
    return first_at_least(items, r * grain, [&](std::int64_t i) { return offset_of(i) + i; });
  }
};

}  // namespace shardmark::kernels
