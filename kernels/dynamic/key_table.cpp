// SPDX-License-Identifier: Apache-2.0
#include "kernels/dynamic/key_table.hpp"

#include <limits>

#include "kernels/instantiate.hpp"
#include "reference/error.hpp"

namespace shardmark::kernels {
namespace {

/// Returns the lines of a bucket of `keys` keys: a number of a sequence that doubles, from a number of its own between
/// 1 and 2, so that the buckets of a table, which have about as many keys, grow one after the other.
std::uint32_t lines_for(std::int64_t bucket, std::int64_t keys) {
  double lines = 1.0 + static_cast<double>(static_cast<std::uint32_t>(bucket) * 2654435769U) * 0x1p-32;
  while (static_cast<std::int64_t>(lines) * most_keys_of_line < keys) lines *= 2.0;
  return static_cast<std::uint32_t>(lines);
}

}  // namespace

template <class Exec>
UniqueRows<Exec> group_by_bucket(const Exec& exec, const KeyBuckets& mix, ConstArray<Exec, std::int64_t> keys,
                                 ConstArray<Exec, std::int64_t> slots, SlotsToSelect select,
                                 KeyGroupsWorkspace<Exec>& workspace) {
  constexpr std::int64_t block_size = in_host_memory<Exec> ? 512 : 4;
  const auto n = static_cast<std::int64_t>(keys.extent(0));
  const auto positions = workspace.positions.first(n), buckets = workspace.buckets.first(n);
  const bool found = select == SlotsToSelect::found;
  std::int64_t total = 0;
  Kokkos::parallel_scan(
      "shardmark::select_keys", static_range(exec, (n + block_size - 1) / block_size),
      KOKKOS_LAMBDA(const std::int64_t block, std::int64_t& selected, const bool final) {
        const std::int64_t begin = block * block_size, end = Kokkos::min(n, begin + block_size);
        for (std::int64_t p = begin; p < end; ++p) {
          if (found ? slots(p) < 0 : slots(p) != no_slot) continue;
          if (final) positions(selected) = p;
          if (final) buckets(selected) = mix.bucket(keys(p));
          ++selected;
        }
      },
      total);
  const std::pair<std::int64_t, std::int64_t> used(0, total);
  return unique_rows<Exec>(exec, Kokkos::subview(buckets, used), key_buckets, Kokkos::subview(positions, used), n,
                           workspace.sort);
}

template <class Exec>
KeyTable<Exec>::KeyTable(const KeyBuckets& mix)
    : regions_(static_cast<std::size_t>(key_buckets)), host_counts_(static_cast<std::size_t>(key_buckets)) {
  const Exec exec;
  no_keys_ = allocate<Exec, KeyLine>("shardmark::no_keys", 1);
  arrays_ = {mix, allocate<Exec, KeyBucket>("shardmark::key_buckets", key_buckets)};
  Kokkos::deep_copy(exec, no_keys_, KeyLine{});
  Kokkos::deep_copy(exec, arrays_.buckets, KeyBucket{no_keys_.data(), 1, 0});
  exec.fence("shardmark: an empty table of keys");
}

template <class Exec>
std::int64_t KeyTable<Exec>::bytes() const {
  return arena_.lines() * std::int64_t{sizeof(KeyLine)} + key_buckets * std::int64_t{sizeof(KeyBucket)} +
         static_cast<std::int64_t>(freed_slots_.extent(0)) * 4;
}

template <class Exec>
void find_keys(const Exec& exec, const KeyTableArrays<Exec>& table, const ConstArray<Exec, std::int64_t>& keys,
               const Array<Exec, std::int64_t>& slots) {
  for_all_slots(
      "shardmark::find_keys", exec, table, keys, KOKKOS_LAMBDA(std::int64_t i, std::int64_t slot) { slots(i) = slot; },
      KOKKOS_LAMBDA(std::int64_t, std::int64_t){});
}

template <class Exec>
void KeyTable<Exec>::find(const Exec& exec, ConstArray<Exec, std::int64_t> keys,
                          Array<Exec, std::int64_t> slots) const {
  find_keys(exec, arrays_, keys, slots);
}

template <class Exec>
void list_keys(const Exec& exec, const KeyTableArrays<Exec>& table, const Array<Exec, std::int64_t>& keys,
               const Array<Exec, std::int64_t>& slots) {
  Kokkos::parallel_scan(
      "shardmark::list_keys", static_range(exec, key_buckets),
      KOKKOS_LAMBDA(const std::int64_t b, std::int64_t& before, const bool final) {
        const KeyBucket& bucket = table.buckets(b);
        std::int64_t at = before;
        if (final)
          bucket.for_each([&](std::int64_t key, std::uint32_t slot) {
            keys(at) = key;
            slots(at++) = slot;
          });
        before += bucket.keys;
      });
}

template <class Exec>
void KeyTable<Exec>::list(const Exec& exec, Array<Exec, std::int64_t> keys, Array<Exec, std::int64_t> slots) const {
  list_keys(exec, arrays_, keys, slots);
}

/// Writes how many positions each bucket has.
template <class Exec>
void count_groups(const Exec& exec, const UniqueRows<Exec>& groups, const Array<Exec, std::uint32_t>& counts) {
  Kokkos::deep_copy(exec, counts, 0U);
  for_each_group(
      "shardmark::keys_by_bucket", exec, groups,
      KOKKOS_LAMBDA(std::int64_t bucket, std::int64_t begin, std::int64_t end) {
        counts(bucket) = static_cast<std::uint32_t>(end - begin);
      });
}

template <class Exec>
const std::vector<std::uint32_t>& KeyTable<Exec>::count_in_buckets(const Exec& exec, const Groups& groups) {
  const auto counts = counts_.first(key_buckets);
  count_groups(exec, groups, counts);
  copy_array(exec, host_array(host_counts_), counts);
  exec.fence("shardmark: how many keys each bucket gets or loses");
  return host_counts_;
}

/// Moves the keys of a bucket to other lines.
template <class Exec>
KOKKOS_FUNCTION void move_keys_of(const KeyTableArrays<Exec>& table, const KeyBucketResize& resize) {
  KeyBucket& old = table.buckets(resize.bucket);
  KeyBucket resized{resize.lines, resize.line_count, 0};
  for (std::uint32_t line = 0; line < resized.line_count; ++line) resized.lines[line].counts = 0;
  old.for_each([&](std::int64_t key, std::uint32_t slot) { resized.insert(table.mix.bits(key), key, slot); });
  old = resized;
}

/// Moves the keys of buckets to other lines.
template <class Exec, class Resizes>
void move_keys(const Exec& exec, const KeyTableArrays<Exec>& table, const Resizes& resizes) {
  Kokkos::parallel_for(
      "shardmark::resize_buckets", dynamic_range(exec, static_cast<std::int64_t>(resizes.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { move_keys_of<Exec>(table, resizes(i)); });
}

template <class Exec>
void KeyTable<Exec>::resize(const Exec& exec, const std::vector<KeyBucketResize>& resizes) {
  if (resizes.empty()) return;
  move_keys(exec, arrays_, resizes_.holding(exec, resizes));
  for (const KeyBucketResize& now : resizes) moved(now);
}

/// Gives back the lines that a bucket had before.
template <class Exec>
void KeyTable<Exec>::moved(const KeyBucketResize& now) {
  Region& region = regions_[now.bucket];
  if (region.lines != nullptr) arena_.give(region.lines, region.line_count);
  region.lines = now.lines;
  region.line_count = now.line_count;
}

/// Takes lines for the keys that a bucket has by now.
template <class Exec>
KeyBucketResize KeyTable<Exec>::grown(std::int64_t bucket) {
  const std::uint32_t lines = lines_for(bucket, regions_[bucket].keys);
  return {bucket, arena_.take(lines), lines};
}

/// Gives the keys at these positions slots: the freed ones, the latest first, then those from next_slot on.
template <class Exec>
void give_slots(const Exec& exec, const ConstArray<Exec, std::int64_t>& positions,
                const Array<Exec, std::uint32_t>& freed_slots, std::int64_t free_slots, std::int64_t next_slot,
                const Array<Exec, std::int64_t>& slots) {
  Kokkos::parallel_for(
      "shardmark::give_slots", static_range(exec, static_cast<std::int64_t>(positions.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        slots(positions(i)) =
            i < free_slots ? std::int64_t{freed_slots(free_slots - 1 - i)} : next_slot + (i - free_slots);
      });
}

/// Inserts the keys of `groups` with their slots.
template <class Exec>
void insert_groups(const Exec& exec, const KeyTableArrays<Exec>& table, const UniqueRows<Exec>& groups,
                   const ConstArray<Exec, std::int64_t>& keys, const Array<Exec, std::int64_t>& slots) {
  constexpr std::int64_t key_ahead = 64, line_ahead = 40, next_ahead = 12;
  for_each_group(
      "shardmark::insert_keys", exec, groups, KOKKOS_LAMBDA(std::int64_t bucket, std::int64_t begin, std::int64_t end) {
        KeyBucket at = table.buckets(bucket);
        for (std::int64_t i = begin; i < end; ++i) {
          if (i + key_ahead < groups.positions()) prefetch(&keys(groups.position(i + key_ahead)), 8);
          if (i + line_ahead < groups.positions())
            prefetch(table.first_line(keys(groups.position(i + line_ahead))), cache_line);
          if (i + next_ahead < groups.positions()) {
            const KeyLine* const line = table.first_line(keys(groups.position(i + next_ahead)));
            prefetch_to_write(line + line->is_full());
          }
          const std::int64_t p = groups.position(i);
          at.insert(table.mix.bits(keys(p)), keys(p), static_cast<std::uint32_t>(slots(p)));
        }
        table.buckets(bucket).keys = at.keys;
      });
}

void require_slots(std::int64_t slots) {
  if (slots > std::int64_t{std::numeric_limits<std::uint32_t>::max()})
    throw InputError("a table of keys: more than 2^32 - 1 rows on one rank; use more ranks, or a capacity");
}

template <class Exec>
ConstArray<Exec, std::int64_t> KeyTable<Exec>::insert(const Exec& exec, ConstArray<Exec, std::int64_t> keys,
                                                      Array<Exec, std::int64_t> slots) {
  const Groups groups = group_by_bucket<Exec>(exec, arrays_.mix, keys, slots, SlotsToSelect::missing, groups_);
  const std::int64_t count = groups.positions(), reused = Kokkos::min(count, free_slots_);
  require_slots(next_slot_ + count - reused);
  if (count == 0) return {};
  const ConstArray<Exec, std::int64_t> added = groups_.positions.first(count);
  give_slots<Exec>(exec, added, freed_slots_, free_slots_, next_slot_, slots);
  const auto& more = count_in_buckets(exec, groups);
  std::vector<KeyBucketResize> growing;
  for (std::int64_t bucket = 0; bucket < key_buckets; ++bucket) {
    Region& region = regions_[bucket];
    const std::uint32_t held = region.keys;
    region.keys += more[bucket];
    if (region.keys <= region.line_count * most_keys_of_line) continue;
    moved_keys_ += held;
    growing.push_back(grown(bucket));
  }
  resize(exec, growing);
  insert_groups<Exec>(exec, arrays_, groups, keys, slots);
  keys_ += count;
  free_slots_ -= reused;
  next_slot_ += count - reused;
  return added;
}

/// Inserts a key that is not here, on a host. Returns its slot.
template <class Exec>
std::int64_t KeyTable<Exec>::insert_new(std::uint64_t bits, std::int64_t key) {
  const std::int64_t bucket = KeyBuckets::bucket_of_bits(bits);
  Region& region = regions_[bucket];
  if (++region.keys > region.line_count * most_keys_of_line) {
    moved_keys_ += region.keys - 1;
    const KeyBucketResize now = grown(bucket);
    move_keys_of<Exec>(arrays_, now);
    moved(now);
  }
  const std::int64_t slot = free_slots_ > 0 ? std::int64_t{freed_slots_(--free_slots_)} : next_slot_++;
  arrays_.buckets(bucket).insert(bits, key, static_cast<std::uint32_t>(slot));
  ++keys_;
  return slot;
}

template <class Exec>
ConstArray<Exec, std::int64_t> KeyTable<Exec>::find_or_insert(const Exec& exec, ConstArray<Exec, std::int64_t> keys,
                                                              Array<Exec, std::int64_t> slots) {
  if constexpr (in_host_memory<Exec>)
    if (exec.concurrency() == 1) {
      const auto n = static_cast<std::int64_t>(keys.extent(0));
      require_slots(next_slot_ + n);
      const auto added = groups_.positions.first(n);
      std::int64_t count = 0, i = 0;
      const auto slot_of = [&](const KeyLine* line, std::int64_t key) {
        // Lines move as buckets grow: a key that is in the one where it was is right, one that is not may have gone.
        if (const int way = line->way_of(key); way >= 0) return std::int64_t{line->slots[way]};
        const std::uint64_t bits = arrays_.mix.bits(key);
        const KeyBucket& at = arrays_.bucket(bits);
        const std::int64_t slot = arrays_.slot(at.lines + at.first_line(bits), key);
        if (slot != no_slot) return slot;
        added(count++) = i;
        return insert_new(bits, key);
      };
      const auto found = [&](std::int64_t at, std::int64_t slot) {
        slots(at) = slot;
        i = at + 1;
      };
      for_each_slot<Exec>(arrays_, keys, 0, n, slot_of, found, [](std::int64_t, std::int64_t) {});
      return Kokkos::subview(added, std::pair<std::int64_t, std::int64_t>(0, count));
    }
  find(exec, keys, slots);
  return insert(exec, keys, slots);
}

/// Erases the keys of `groups`, and writes their slots behind the first free_slots of freed_slots.
template <class Exec>
void erase_groups(const Exec& exec, const KeyTableArrays<Exec>& table, const UniqueRows<Exec>& groups,
                  const ConstArray<Exec, std::int64_t>& keys, const Array<Exec, std::uint32_t>& freed_slots,
                  std::int64_t free_slots) {
  for_each_group(
      "shardmark::erase_keys", exec, groups, KOKKOS_LAMBDA(std::int64_t bucket, std::int64_t begin, std::int64_t end) {
        KeyBucket at = table.buckets(bucket);
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t key = keys(groups.position(i));
          freed_slots(free_slots + i) = at.erase(table.mix.bits(key), key);
        }
        table.buckets(bucket).keys = at.keys;
      });
}

template <class Exec>
void KeyTable<Exec>::erase(const Exec& exec, ConstArray<Exec, std::int64_t> keys) {
  const auto slots = found_.first(static_cast<std::int64_t>(keys.extent(0)));
  find(exec, keys, slots);
  const Groups groups = group_by_bucket<Exec>(exec, arrays_.mix, keys, slots, SlotsToSelect::found, groups_);
  const std::int64_t count = groups.positions();
  if (count == 0) return;
  reserve(exec, freed_slots_, free_slots_, free_slots_ + count, "shardmark::freed_slots");
  erase_groups<Exec>(exec, arrays_, groups, keys, freed_slots_, free_slots_);
  keys_ -= count;
  free_slots_ += count;
  const auto& fewer = count_in_buckets(exec, groups);
  std::vector<KeyBucketResize> shrinking;
  for (std::int64_t bucket = 0; bucket < key_buckets; ++bucket) {
    Region& region = regions_[bucket];
    region.keys -= fewer[bucket];
    const std::uint32_t lines = lines_for(bucket, region.keys + region.keys / 4);
    if (fewer[bucket] == 0 || lines > region.line_count / 3) continue;
    moved_keys_ += region.keys;
    shrinking.push_back({bucket, arena_.take(lines), lines});
  }
  resize(exec, shrinking);
}

SHARDMARK_INSTANCE(group_by_bucket<DefaultSpace>)
template KeyTable<DefaultSpace>::KeyTable(const KeyBuckets&);
template std::int64_t KeyTable<DefaultSpace>::bytes() const;
template void KeyTable<DefaultSpace>::find(const DefaultSpace&, ConstArray<DefaultSpace, std::int64_t>,
                                           Array<DefaultSpace, std::int64_t>) const;
template void KeyTable<DefaultSpace>::list(const DefaultSpace&, Array<DefaultSpace, std::int64_t>,
                                           Array<DefaultSpace, std::int64_t>) const;
template ConstArray<DefaultSpace, std::int64_t> KeyTable<DefaultSpace>::insert(const DefaultSpace&,
                                                                               ConstArray<DefaultSpace, std::int64_t>,
                                                                               Array<DefaultSpace, std::int64_t>);
template ConstArray<DefaultSpace, std::int64_t> KeyTable<DefaultSpace>::find_or_insert(
    const DefaultSpace&, ConstArray<DefaultSpace, std::int64_t>, Array<DefaultSpace, std::int64_t>);
template void KeyTable<DefaultSpace>::erase(const DefaultSpace&, ConstArray<DefaultSpace, std::int64_t>);

}  // namespace shardmark::kernels
