// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "kernels/dynamic/key_line.hpp"
#include "kernels/dynamic/line_arena.hpp"
#include "kernels/sort/unique_rows.hpp"

namespace shardmark::kernels {

/// Is what kernels read of a KeyTable.
template <class Exec>
struct KeyTableArrays {
  KeyBuckets mix;
  Array<Exec, KeyBucket> buckets;  ///< [key_buckets]

  KOKKOS_FORCEINLINE_FUNCTION KeyBucket& bucket(std::uint64_t bits) const {
    return buckets(KeyBuckets::bucket_of_bits(bits));
  }
  /// Return the line in which a search begins, of a key or of its bits.
  KOKKOS_FORCEINLINE_FUNCTION KeyLine* first_line(std::int64_t key) const { return line_of_bits(mix.bits(key)); }
  KOKKOS_FORCEINLINE_FUNCTION KeyLine* line_of_bits(std::uint64_t bits) const {
    const KeyBucket& at = bucket(bits);
    return at.lines + at.first_line(bits);
  }
  /// Returns the slot of a key, or no_slot. first: its first_line().
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t slot(const KeyLine* first, std::int64_t key) const {
    const int way = first->way_of(key);
    if (way >= 0) return first->slots[way];
    if (first->passed() == 0) return no_slot;
    const std::uint64_t bits = mix.bits(key);
    return bucket(bits).slot_behind(bits, key);
  }
};

/// Calls found(i, slot) and, a block of 16 keys later, use(i, slot) for the keys [begin, end); slot: what
/// slot_of(first_line, key) returns, as that of KeyTableArrays. Lines are prefetched two blocks before they are read, a
/// block later also the next ones where keys have passed a full one; found() prefetches what use() needs. On a device a
/// thread takes few keys, and there is nothing ahead.
template <class Exec, class SlotOf, class Found, class Use>
KOKKOS_FORCEINLINE_FUNCTION void for_each_slot(const KeyTableArrays<Exec>& table,
                                               const ConstArray<Exec, std::int64_t>& keys, std::int64_t begin,
                                               std::int64_t end, const SlotOf& slot_of, const Found& found,
                                               const Use& use) {
  if constexpr (in_host_memory<Exec>) {
    constexpr std::int64_t size = 16, ahead = 3;
    const KeyLine* lines[ahead][size];
    std::int64_t slots[2][size];
    std::uint64_t bits[size];
    const std::int64_t blocks = (end - begin + size - 1) / size;
    const auto each = [&](std::int64_t block, const auto& body) __attribute__((always_inline)) {
      if (block < 0 || block >= blocks) return;
      const std::int64_t first = begin + block * size;
      if (first + size <= end)
        for (std::int64_t k = 0; k < size; ++k) body(first + k, k);
      else
        for (std::int64_t k = 0; k < end - first; ++k) body(first + k, k);
    };
    for (std::int64_t block = -ahead; block < blocks; ++block) {
      each(block, [&](std::int64_t i, std::int64_t k) { use(i, slots[block & 1][k]); });
      each(block + 1, [&](std::int64_t i, std::int64_t k) {
        found(i, slots[(block + 1) & 1][k] = slot_of(lines[(block + 1) % ahead][k], keys(i)));
      });
      each(block + 2, [&](std::int64_t, std::int64_t k) {
        const KeyLine* const line = lines[(block + 2) % ahead][k];
        prefetch(line + (line->passed() > 0), cache_line);
      });
      each(block + 3, [&](std::int64_t i, std::int64_t k) { bits[k] = table.mix.bits(keys(i)); });  // several at once
      each(block + 3, [&](std::int64_t, std::int64_t k) {
        const KeyLine* const line = table.line_of_bits(bits[k]);
        lines[(block + 3) % ahead][k] = line;
        prefetch(line, cache_line);
      });
    }
  } else {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t slot = slot_of(table.first_line(keys(i)), keys(i));
      found(i, slot);
      use(i, slot);
    }
  }
}

/// Calls found() and use(), which kernels can call, for all keys, as for_each_slot() does. An index of the kernel takes
/// one key on a device, and on a processor enough to have requests on their way.
template <class Exec, class Found, class Use>
void for_all_slots(const std::string& label, const Exec& exec, const KeyTableArrays<Exec>& table,
                   const ConstArray<Exec, std::int64_t>& keys, const Found& found, const Use& use) {
  constexpr std::int64_t at_once = in_host_memory<Exec> ? 1024 : 1;
  const auto n = static_cast<std::int64_t>(keys.extent(0));
  Kokkos::parallel_for(
      label, static_range(exec, (n + at_once - 1) / at_once), KOKKOS_LAMBDA(const std::int64_t block) {
        const std::int64_t begin = block * at_once;
        const auto slot_of = [&](const KeyLine* line, std::int64_t key) { return table.slot(line, key); };
        for_each_slot<Exec>(table, keys, begin, Kokkos::min(n, begin + at_once), slot_of, found, use);
      });
}

template <class Exec>
struct KeyGroupsWorkspace {
  Scratch<Exec, std::int64_t> positions{"shardmark::key_positions"};
  Scratch<Exec, std::int64_t> buckets{"shardmark::buckets_of_keys"};
  UniqueRowsWorkspace<Exec> sort;
};

/// Selects keys by the slots that find() gave them: the ones that have a slot, or the ones that have no_slot.
enum class SlotsToSelect { found, missing };

/// Lists the selected positions of keys by their buckets: key(u) of the result is a bucket, and within it positions
/// ascend. keys and slots: [n]. The result lives in `workspace`, and positions() says how many they are. Waits for the
/// device.
template <class Exec>
UniqueRows<Exec> group_by_bucket(const Exec& exec, const KeyBuckets& mix, ConstArray<Exec, std::int64_t> keys,
                                 ConstArray<Exec, std::int64_t> slots, SlotsToSelect select,
                                 KeyGroupsWorkspace<Exec>& workspace);

/// Calls body(bucket, its first word, behind its last) for the buckets of `groups`, each in one thread.
template <class Exec, class Body>
void for_each_group(const std::string& label, const Exec& exec, const UniqueRows<Exec>& groups, const Body& body) {
  constexpr std::int64_t block_size = in_host_memory<Exec> ? 8 : 1;
  const std::int64_t most = Kokkos::min(key_buckets, groups.positions());
  Kokkos::parallel_for(
      label, dynamic_range(exec, (most + block_size - 1) / block_size), KOKKOS_LAMBDA(const std::int64_t block) {
        const std::int64_t end = Kokkos::min(groups.count(), (block + 1) * block_size);
        for (std::int64_t u = block * block_size; u < end; ++u)
          body(groups.key(u), groups.begin(u), groups.begin(u + 1));
      });
}

/// Copies the first `used` elements of an array to one of at least `wanted`, larger by a quarter or more; leaves one
/// that is large enough.
template <class Exec, class T>
void reserve(const Exec& exec, Array<Exec, T>& array, std::int64_t used, std::int64_t wanted,
             const std::string& label) {
  const auto size = static_cast<std::int64_t>(array.extent(0));
  if (wanted <= size) return;
  const auto larger = allocate<Exec, T>(label, std::max(wanted, size + size / 4));
  const std::pair<std::int64_t, std::int64_t> kept(0, used);
  if (used > 0) copy_array(exec, Kokkos::subview(larger, kept), Kokkos::subview(array, kept));
  array = larger;
}

/// Says to which lines the keys of a bucket move.
struct KeyBucketResize {
  std::int64_t bucket;
  KeyLine* lines;
  std::uint32_t line_count;
};

/// Maps keys, any of the 2^64 integers, to slots below 2^32: the places of their rows. It has a hash table for each
/// bucket of reference::KeyBuckets, which one thread at a time changes, so that keys and slots are the same for any
/// number of threads. Each doubles on its own, at a size of its own, so that no step moves more than a few old
/// keys for each new one. Slots of erased keys are given to later ones.
template <class Exec>
class KeyTable {
 public:
  explicit KeyTable(const KeyBuckets& mix);

  const KeyTableArrays<Exec>& arrays() const { return arrays_; }
  std::int64_t keys() const { return keys_; }
  std::int64_t keys_in_bucket(std::int64_t bucket) const { return regions_[bucket].keys; }
  /// Returns the least number above all slots that have been given.
  std::int64_t slot_bound() const { return next_slot_; }
  /// Returns the bytes of its arrays, workspace left out.
  std::int64_t bytes() const;
  /// Returns for how many keys its buckets have room.
  std::int64_t room() const { return (arena_.lines() - arena_.free_lines()) * KeyLine::ways; }
  /// Returns how many keys have been moved because their buckets grew or shrank.
  std::int64_t moved_keys() const { return moved_keys_; }

  /// Sets slots[i] to the slot of keys[i], or to no_slot. keys: [n], repeated or not. Changes nothing.
  void find(const Exec& exec, ConstArray<Exec, std::int64_t> keys, Array<Exec, std::int64_t> slots) const;

  /// Lists all keys, bucket by bucket, and their slots. keys, slots: [keys()].
  void list(const Exec& exec, Array<Exec, std::int64_t> keys, Array<Exec, std::int64_t> slots) const;

  /// Inserts the keys whose slots are no_slot, as find() gave them, and sets their slots. keys: [n], distinct as far as
  /// they are inserted. Returns the positions of those, ascending; valid until the next call. Throws InputError where
  /// slots would exceed 32 bits. Waits for the device.
  ConstArray<Exec, std::int64_t> insert(const Exec& exec, ConstArray<Exec, std::int64_t> keys,
                                        Array<Exec, std::int64_t> slots);

  /// Does what find() and insert() do, of keys that are distinct; at once where one thread of a host does. A table is
  /// the same however it came about.
  ConstArray<Exec, std::int64_t> find_or_insert(const Exec& exec, ConstArray<Exec, std::int64_t> keys,
                                                Array<Exec, std::int64_t> slots);

  /// Erases those of the keys, distinct, that are in the table. Waits for the device.
  void erase(const Exec& exec, ConstArray<Exec, std::int64_t> keys);

 private:
  struct Region {
    KeyLine* lines = nullptr;  ///< null: the line without keys that all empty buckets share
    std::uint32_t line_count = 0;
    std::uint32_t keys = 0;
  };
  using Groups = UniqueRows<Exec>;

  const std::vector<std::uint32_t>& count_in_buckets(const Exec& exec, const Groups& groups);
  void resize(const Exec& exec, const std::vector<KeyBucketResize>& resizes);
  KeyBucketResize grown(std::int64_t bucket);
  void moved(const KeyBucketResize& now);
  std::int64_t insert_new(std::uint64_t bits, std::int64_t key);

  KeyTableArrays<Exec> arrays_;
  LineArena<Exec, KeyLine> arena_{"shardmark::key_lines"};
  std::vector<Region> regions_;  ///< [key_buckets] what the buckets hold, on the host
  std::int64_t keys_ = 0, next_slot_ = 0, free_slots_ = 0, moved_keys_ = 0;
  Array<Exec, KeyLine> no_keys_;            ///< [1]
  Array<Exec, std::uint32_t> freed_slots_;  ///< the first free_slots_ of them

  KeyGroupsWorkspace<Exec> groups_;
  Scratch<Exec, std::int64_t> found_{"shardmark::erased_slots"};
  Scratch<Exec, std::uint32_t> counts_{"shardmark::keys_by_bucket"};
  Scratch<Exec, KeyBucketResize> resizes_{"shardmark::resized_buckets"};
  std::vector<std::uint32_t> host_counts_;
};

}  // namespace shardmark::kernels
