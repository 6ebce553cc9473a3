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

/// Walks through ascending keys, and says for each which range it is in: k of those that begin at firsts[0 .. count).
struct RangeWalk {
  const std::int64_t* firsts;
  std::int64_t count;
  std::int64_t range;

  /// Begins at `key`, which is firsts[0] or above.
  KOKKOS_FORCEINLINE_FUNCTION RangeWalk(const std::int64_t* begins, std::int64_t ranges, std::int64_t key)
      : firsts(begins), count(ranges), range(last_at_most(ranges, key, [&](std::int64_t k) { return begins[k]; })) {}

  /// Returns the range of a key that is not below those before.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t to(std::int64_t key) {
    while (range + 1 < count && firsts[range + 1] <= key) ++range;
    return range;
  }
  /// Returns the first key behind the range, at most `end`.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t stop(std::int64_t end) const {
    return range + 1 < count ? Kokkos::min(end, firsts[range + 1]) : end;
  }
};

/// Calls body(block, first, stop) for the runs [first, stop) of items of one block that make up [item, end), which is
/// not empty. blocks: an array in ascending order of items; a block has `bags` of them, from first_of(block) on.
template <class Blocks, class FirstOf, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_block_runs(const Blocks& blocks, std::int64_t item, std::int64_t end,
                                                const FirstOf& first_of, const Body& body) {
  const auto count = static_cast<std::int64_t>(blocks.extent(0));
  const std::int64_t last = last_at_most(count, item, [&](std::int64_t i) { return first_of(blocks(i)); });
  for (std::int64_t b = Kokkos::max(last, std::int64_t{0}); item < end && b < count; ++b) {
    const auto& block = blocks(b);
    item = Kokkos::max(item, first_of(block));
    const std::int64_t stop = Kokkos::min(end, first_of(block) + block.bags);
    if (item < stop) body(block, item, stop);
    item = Kokkos::max(item, stop);
  }
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
