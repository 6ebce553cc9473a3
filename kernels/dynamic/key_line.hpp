// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "kernels/prefetch.hpp"
#include "kernels/simd/lane_number.hpp"
#include "reference/dynamic/key_buckets.hpp"

namespace shardmark::kernels {

/// These take the place of a slot: a key is not in the table; or it is not to be inserted either.
inline constexpr std::int64_t no_slot = -1;
inline constexpr std::int64_t not_admitted = -2;

/// Is a cache line of keys with their slots, the first held() of them in use: no key stands for an empty place.
struct alignas(cache_line) KeyLine {
  static constexpr int ways = keys_of_line;

  std::int64_t keys[ways];
  std::uint32_t slots[ways];
  std::uint32_t counts;  ///< held in the lowest 3 bits, passed above them

  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t held() const { return counts & 7; }
  /// Returns how many keys lie in lines behind this one because it was full when they came: a search ends where there
  /// are none (F14 of Folly). It is exact, so that erased keys leave no trace.
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t passed() const { return counts >> 3; }
  KOKKOS_FORCEINLINE_FUNCTION bool is_full() const { return held() == ways; }

  /// Returns the way that holds the key, or -1. It compares all ways, without a branch for each.
  KOKKOS_FORCEINLINE_FUNCTION int way_of(std::int64_t key) const {
#ifdef SHARDMARK_AVX512
    std::uint32_t equal = _mm512_cmpeq_epi64_mask(_mm512_load_si512(this), _mm512_set1_epi64(key));
#else
    std::uint32_t equal = 0;
    for (int way = 0; way < ways; ++way) equal |= static_cast<std::uint32_t>(keys[way] == key) << way;
#endif
    equal &= (1U << held()) - 1;
    return equal == 0 ? -1 : Kokkos::Experimental::countr_zero_builtin(equal);
  }
  KOKKOS_FORCEINLINE_FUNCTION void add(std::int64_t key, std::uint32_t slot) {
    keys[held()] = key;
    slots[held()] = slot;
    ++counts;
  }
  KOKKOS_FORCEINLINE_FUNCTION void remove(int way) {
    --counts;
    keys[way] = keys[held()];
    slots[way] = slots[held()];
  }
  KOKKOS_FORCEINLINE_FUNCTION void pass(int keys_more) { counts += static_cast<std::uint32_t>(keys_more) << 3; }
};
static_assert(sizeof(KeyLine) == cache_line && sizeof(KeyLine) == key_line_bytes);

/// Holds the keys of a bucket by linear probing of lines. One thread at a time changes a bucket.
struct KeyBucket {
  KeyLine* lines;
  std::uint32_t line_count;
  std::uint32_t keys;

  /// Returns the line that a search for a key of these bits begins with: they are scaled to the lines, of which there
  /// may be any number (Lemire, ACM TOMACS 2019).
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t first_line(std::uint64_t bits) const {
    return static_cast<std::uint32_t>(((bits >> 20) & 0xffffffff) * line_count >> 32);
  }
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t next(std::uint32_t line) const {
    return line + 1 < line_count ? line + 1 : 0;
  }

  /// Returns the slot of a key that is not in its first line, or no_slot.
  KOKKOS_INLINE_FUNCTION std::int64_t slot_behind(std::uint64_t bits, std::int64_t key) const {
    std::uint32_t line = first_line(bits);
    for (std::uint32_t tried = 1; tried < line_count && lines[line].passed() > 0; ++tried) {
      line = next(line);
      if (const int way = lines[line].way_of(key); way >= 0) return lines[line].slots[way];
    }
    return no_slot;
  }

  /// Adds a key that is not here; there must be room.
  KOKKOS_INLINE_FUNCTION void insert(std::uint64_t bits, std::int64_t key, std::uint32_t slot) {
    std::uint32_t line = first_line(bits);
    for (; lines[line].is_full(); line = next(line)) lines[line].pass(1);
    lines[line].add(key, slot);
    ++keys;
  }

  /// Removes a key that is here. Returns its slot.
  KOKKOS_INLINE_FUNCTION std::uint32_t erase(std::uint64_t bits, std::int64_t key) {
    std::uint32_t line = first_line(bits);
    int way = lines[line].way_of(key);
    for (; way < 0; way = lines[line].way_of(key)) {
      lines[line].pass(-1);
      line = next(line);
    }
    const std::uint32_t slot = lines[line].slots[way];
    lines[line].remove(way);
    --keys;
    return slot;
  }

  /// Calls body(key, slot) for all of its keys.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(const Body& body) const {
    for (std::uint32_t line = 0; line < line_count; ++line)
      for (std::uint32_t way = 0; way < lines[line].held(); ++way) body(lines[line].keys[way], lines[line].slots[way]);
  }
};

}  // namespace shardmark::kernels
