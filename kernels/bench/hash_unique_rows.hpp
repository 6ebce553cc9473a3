// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sort/radix_sort.hpp"

namespace shardmark::kernels::bench {

/// A key, -1 where there is none, and how many positions have it; later where its next one goes.
struct HashSlot {
  std::int64_t key = -1;
  std::int64_t cursor = 0;
};

template <class Exec>
struct HashUniqueRowsWorkspace {
  Scratch<Exec, HashSlot> slots{"shardmark::hash_slots"};
  Scratch<Exec, std::int64_t> slot_of{"shardmark::hash_slot_of"};
  Scratch<Exec, std::int64_t> found{"shardmark::hash_found"};
  Scratch<Exec, std::int64_t> found_slots{"shardmark::hash_found_slots"};
  Scratch<Exec, std::uint64_t> words{"shardmark::hash_words"};
  Scratch<Exec, std::int64_t> segments{"shardmark::hash_segments"};
  UniqueRowsWorkspace<Exec> sort;
};

/// log2 of the slots for n keys: between two and four times as many.
inline int hash_bits(std::int64_t n) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(2 * n, 1))));
}

inline constexpr std::int64_t hash_prefetch = 16;  ///< positions whose slots are asked for ahead

/// What unique_rows is held against: the same by a hash table (open addressing, linear probing, at most half full):
/// only the distinct keys are sorted, and the positions of a row come in the order in which threads reach them. keys:
/// [n], each in [0, key_bound). Waits for the device to know how many distinct keys there are.
template <class Exec>
UniqueRows<Exec> hash_unique_rows(const Exec& exec, ConstArray<Exec, std::int64_t> keys, std::int64_t key_bound,
                                  HashUniqueRowsWorkspace<Exec>& workspace) {
  const auto n = static_cast<std::int64_t>(keys.extent(0));
  const int bits = hash_bits(n);
  const std::int64_t capacity = std::int64_t{1} << bits;
  const auto slots = workspace.slots.first(capacity);
  const auto slot_of = workspace.slot_of.first(n);
  const auto words = workspace.words.first(n);
  const KeyWords<Exec> word{keys, {}, RadixPlan(n, n, key_bound).position_bits};
  const auto found = workspace.found.first(n), found_slots = workspace.found_slots.first(n);
  Kokkos::deep_copy(exec, slots, HashSlot{});
  Kokkos::parallel_for(
      "shardmark::hash_insert", static_range(exec, n), KOKKOS_LAMBDA(const std::int64_t p) {
        const auto first_slot = [&](std::int64_t key) {
          return static_cast<std::int64_t>(static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15ULL >> (64 - bits));
        };
        prefetch_to_write(&slots(first_slot(keys(Kokkos::min(p + hash_prefetch, n - 1)))));
        const std::int64_t key = keys(p);
        std::int64_t slot = first_slot(key);
        for (;; slot = (slot + 1) & (capacity - 1)) {
          std::int64_t holder = Kokkos::atomic_load(&slots(slot).key);
          if (holder == -1) holder = Kokkos::atomic_compare_exchange(&slots(slot).key, std::int64_t{-1}, key);
          if (holder == -1 || holder == key) break;
        }
        Kokkos::atomic_inc(&slots(slot).cursor);
        slot_of(p) = slot;
      });
  std::int64_t count = 0;
  Kokkos::parallel_scan(
      "shardmark::hash_found", static_range(exec, capacity),
      KOKKOS_LAMBDA(const std::int64_t slot, std::int64_t& next, const bool final) {
        if (slots(slot).key < 0) return;
        if (final) found(next) = slots(slot).key;
        if (final) found_slots(next) = slot;
        ++next;
      },
      count);
  const auto distinct = Kokkos::subview(found, std::pair<std::int64_t, std::int64_t>(0, count));
  const auto sorted = unique_rows<Exec>(exec, distinct, key_bound, workspace.sort);
  const auto segments = workspace.segments.first(count + 1);
  Kokkos::parallel_scan(
      "shardmark::hash_segments", static_range(exec, count + 1),
      KOKKOS_LAMBDA(const std::int64_t u, std::int64_t& begin, const bool final) {
        if (final) segments(u) = begin;
        if (u == count) return;
        std::int64_t& cursor = slots(found_slots(sorted.position(u))).cursor;
        const std::int64_t size = cursor;
        if (final) cursor = begin;
        begin += size;
      });
  Kokkos::parallel_for(
      "shardmark::hash_fill", static_range(exec, n), KOKKOS_LAMBDA(const std::int64_t p) {
        prefetch_to_write(&slots(slot_of(Kokkos::min(p + hash_prefetch, n - 1))));
        words(Kokkos::atomic_fetch_add(&slots(slot_of(p)).cursor, std::int64_t{1})) = word(p);
      });
  return {words, segments, sorted.total, word.position_bits};
}

/// Keys into a table of twice as many slots, counters beside it, and the positions out again.
inline Work hash_unique_rows_work(std::int64_t n, std::int64_t unique) {
  const std::int64_t capacity = std::int64_t{1} << hash_bits(n);
  return {.bytes_read = n * 16 + capacity * 8 + unique * 24,
          .bytes_written = capacity * 16 + n * 16 + unique * 24,
          .flops = 0};
}

}  // namespace shardmark::kernels::bench
