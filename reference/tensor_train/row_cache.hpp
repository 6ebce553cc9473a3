// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "reference/counter_random.hpp"
#include "reference/tensor_train/tensor_train.hpp"

namespace shardmark::reference {

/// Describes how the cached rows of a table are laid out: a row may lie in any way of the one set that its hash
/// chooses, and each set counts rows that are not cached in slots of its own, by open addressing.
struct RowCacheShape {
  std::int64_t sets = 0;
  std::int64_t ways = 0;         ///< cached rows of a set
  std::int64_t count_slots = 0;  ///< of a set

  constexpr std::int64_t rows() const { return sets * ways; }

  /// Returns a well mixed hash, so that neither rows that follow each other nor those of a stride share a set more than
  /// by chance.
  static constexpr std::uint64_t hash(std::int64_t row) {
    return next_random_bits(std::uint64_t{0}, static_cast<std::uint64_t>(row));
  }
  constexpr std::int64_t set_of(std::int64_t row) const { return scaled(hash(row) >> 32, sets); }
  /// Returns where among the count slots of its set the search for a row begins; it goes on from there cyclically.
  constexpr std::int64_t first_slot(std::int64_t row) const { return scaled(hash(row) & 0xffffffff, count_slots); }

  bool operator==(const RowCacheShape&) const = default;

 private:
  /// Maps 32 random bits to [0, bound), for bounds below 2^32, without a division (Lemire, ACM TOMACS 2019).
  static constexpr std::int64_t scaled(std::uint64_t bits, std::int64_t bound) {
    return static_cast<std::int64_t>(bits * static_cast<std::uint64_t>(bound) >> 32);
  }
};

/// Returns the shape of a cache with 32 ways, as FBTT-Embedding documents, or as many as there are rows. Rows that fill
/// no whole set are left out. A cache of no rows has no sets.
constexpr RowCacheShape row_cache_shape(const RowCache& cache) {
  if (cache.rows == 0) return {};
  const std::int64_t ways = std::min<std::int64_t>(32, cache.rows), sets = cache.rows / ways;
  const std::int64_t slots = cache.count_slots == 0 ? 2 * cache.rows : cache.count_slots;
  return {.sets = sets, .ways = ways, .count_slots = std::max<std::int64_t>(1, slots / sets)};
}

/// Counts what a cache has done since its table was filled, in uses: lookups, not distinct rows.
struct RowCacheCounts {
  std::int64_t hits = 0;       ///< answered by a cached vector
  std::int64_t stale = 0;      ///< of cached rows whose copy was older than the cores (CacheWrites::read_only)
  std::int64_t misses = 0;     ///< of rows that were not cached
  std::int64_t drops = 0;      ///< misses that no slot was free to count
  std::int64_t evictions = 0;  ///< rows that left the cache

  bool operator==(const RowCacheCounts&) const = default;
};

/// Chooses which rows of a table are cached, by how often they are used. Sets and slots are those of row_cache_shape().
class CachedRows {
 public:
  explicit CachedRows(const RowCache& cache);

  bool contains(std::int64_t row) const;
  /// Returns the uses counted for a row that is cached or has a count slot, else 0.
  std::int64_t uses(std::int64_t row) const;

  /// Counts a row that a step looks up `uses` times; the distinct rows of a step ascend. A cached row counts its uses,
  /// and so does one that has a count slot of its set or finds a free one; else they are dropped.
  void count(std::int64_t row, std::int64_t uses);

  /// Records that the cores have changed: copies of CacheWrites::read_only are stale until they are looked up.
  void cores_changed() { ++version_; }

  struct Populated {
    std::vector<std::int64_t> entered, left;
  };
  /// Caches from now on in each set the `ways` rows with the largest counts, of those that are cached or counted; of
  /// rows with equal counts the smaller one. Rows that leave are forgotten. Then all counts are halved, and slots of
  /// rows whose count is 0 are free.
  Populated populate();

  const RowCacheCounts& counts() const { return counts_; }

 private:
  struct Cached {
    std::int64_t uses;
    std::int64_t version;  ///< of the cores that it was copied from
  };
  struct Set {
    std::map<std::int64_t, Cached> cached;         ///< by row
    std::map<std::int64_t, std::int64_t> counted;  ///< row -> uses
  };
  void populate(Set& set, Populated& populated);

  CacheWrites writes_;
  RowCacheShape shape_;
  std::vector<Set> sets_;
  std::int64_t version_ = 0;
  RowCacheCounts counts_;
};

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::RowCacheCounts, reference::RowCacheShape, reference::row_cache_shape;
}  // namespace shardmark
