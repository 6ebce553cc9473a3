// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"

namespace shardmark::kernels {

/// Returns the word that holds a key above a position.
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t key_word(std::int64_t key, std::int64_t position, int position_bits) {
  return static_cast<std::uint64_t>(key) << position_bits | static_cast<std::uint64_t>(position);
}

/// Holds the distinct rows among n positions. Row u in [0, count()) has key(u), ascending, and is used by the positions
/// position(begin(u)), .., position(begin(u + 1) - 1), in the order in which they were given. Only the device knows
/// count(): see host_count.
template <class Exec>
struct UniqueRows {
  Array<Exec, std::uint64_t> words;    ///< [n] key above position, by ascending key
  Array<Exec, std::int64_t> segments;  ///< [count + 1] where a key's words begin
  Array<Exec, std::int64_t> total;     ///< [1] count
  int position_bits = 0;               ///< of a word, below its key

  std::int64_t positions() const { return static_cast<std::int64_t>(words.extent(0)); }
  KOKKOS_INLINE_FUNCTION std::int64_t count() const { return total(0); }
  KOKKOS_INLINE_FUNCTION std::int64_t key(std::int64_t u) const {
    return static_cast<std::int64_t>(words(segments(u)) >> position_bits);
  }
  KOKKOS_INLINE_FUNCTION std::int64_t begin(std::int64_t u) const { return segments(u); }
  /// Returns the word of a position of `key`.
  KOKKOS_INLINE_FUNCTION std::uint64_t word(std::int64_t key, std::int64_t position) const {
    return key_word(key, position, position_bits);
  }
  KOKKOS_INLINE_FUNCTION std::int64_t position(std::int64_t i) const {
    return static_cast<std::int64_t>(words(i) & ((std::uint64_t{1} << position_bits) - 1));
  }
};

/// Returns the number of distinct rows. Waits for the device.
template <class Exec>
std::int64_t host_count(const Exec& exec, const UniqueRows<Exec>& unique);

/// Sets inverse[p] to u + shift[s] for the distinct row u of position p and its shard s. first_keys: [shards],
/// ascending, key of row 0 of each; shift: [shards]; inverse: [n].
template <class Exec>
void invert_unique_rows(const Exec& exec, const UniqueRows<Exec>& unique, ConstArray<Exec, std::int64_t> first_keys,
                        ConstArray<Exec, std::int64_t> shift, Array<Exec, std::int64_t> inverse);

template <class Exec>
struct UniqueRowsWorkspace {
  Scratch<Exec, std::uint64_t> words{"shardmark::unique_words"};
  Scratch<Exec, std::uint64_t> sorted{"shardmark::unique_sorted"};
  Scratch<Exec, std::uint32_t> histograms{"shardmark::unique_histograms"};
  Scratch<Exec, std::int64_t> segments{"shardmark::unique_segments"};
  Scratch<Exec, std::int64_t> total{"shardmark::unique_total"};
  // Used by sort_shards:
  Scratch<Exec, std::int64_t> shards{"shardmark::unique_shards"};
  Scratch<Exec, std::uint32_t> uses{"shardmark::unique_uses"};
};

/// Marks the distinct keys of sorted words: fills in `segments` and `total`. Takes scratch from `workspace`.
template <class Exec>
void mark_distinct(const Exec& exec, const UniqueRows<Exec>& unique, UniqueRowsWorkspace<Exec>& workspace);

/// Sorts positions by key, stably, and marks the distinct keys. keys: [n], each in [0, key_bound); positions: [n], each
/// in [0, position_bound), or empty for 0 .. n - 1.
/// It is a parallel least-significant-digit radix sort (Zagha and Blelloch 1991); a stable sort has one result, so it
/// is the same for any number of threads. The result lives in `workspace` until the next call with it. Throws
/// InputError when a key and a position together need more than 64 bits.
template <class Exec>
UniqueRows<Exec> unique_rows(const Exec& exec, ConstArray<Exec, std::int64_t> keys, std::int64_t key_bound,
                             ConstArray<Exec, std::int64_t> positions, std::int64_t position_bound,
                             UniqueRowsWorkspace<Exec>& workspace);

/// Does the same with the positions 0 .. n - 1.
template <class Exec>
UniqueRows<Exec> unique_rows(const Exec& exec, ConstArray<Exec, std::int64_t> keys, std::int64_t key_bound,
                             UniqueRowsWorkspace<Exec>& workspace) {
  return unique_rows<Exec>(exec, keys, key_bound, {}, static_cast<std::int64_t>(keys.extent(0)), workspace);
}

/// Says in which ranges the keys of some positions lie: shard s has those from first_keys(s) to first_keys(s + 1).
template <class Exec>
struct KeyShards {
  ConstArray<Exec, std::int64_t> first_keys;  ///< [shards + 1], ascending from 0
  ConstArray<Exec, std::int32_t> of;          ///< [n] the shard of each key, or empty where nobody has said it

  std::int64_t count() const { return static_cast<std::int64_t>(first_keys.extent(0)) - 1; }
};

/// Does the same where keys lie in shards. A host that knows them, and has enough of them to keep its threads busy,
/// brings the words of each together, where its second-level cache holds them, and sorts them there by their rows.
template <class Exec>
UniqueRows<Exec> unique_rows(const Exec& exec, ConstArray<Exec, std::int64_t> keys, const KeyShards<Exec>& shards,
                             std::int64_t key_bound, UniqueRowsWorkspace<Exec>& workspace);

}  // namespace shardmark::kernels
