// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sort/unique_rows.hpp"
#include "reference/tensor_train/row_cache.hpp"

namespace shardmark::kernels {

/// RowCacheDirectory::find returns one of these for a row: a slot in [0, RowCacheShape::rows()), whose vector is the
/// row's; row_not_cached; or for a slot whose copy is older than the cores, stale_slot(slot), below row_not_cached.
inline constexpr std::int64_t row_not_cached = -1;
/// Encodes a slot whose copy is stale, and decodes it: the function is its own inverse.
KOKKOS_INLINE_FUNCTION constexpr std::int64_t stale_slot(std::int64_t slot) { return row_not_cached - 1 - slot; }

/// Lists what a populate() changes: rows that leave and rows that enter, both ascending, with their slots. A slot may
/// be in both: the leaving row's vector is read before the entering one is written. Valid until the next populate().
template <class Exec>
struct RowCacheChanges {
  ConstArray<Exec, std::int64_t> leaving_rows, leaving_slots;    ///< [leaving]
  ConstArray<Exec, std::int64_t> entering_rows, entering_slots;  ///< [entering]

  std::int64_t leaving() const { return static_cast<std::int64_t>(leaving_rows.extent(0)); }
  std::int64_t entering() const { return static_cast<std::int64_t>(entering_rows.extent(0)); }
};

/// Holds the state of a RowCacheDirectory, for kernels. A cached row has slot set * ways + way.
template <class Exec>
struct RowCacheArrays {
  static constexpr std::int64_t tag_words = 4;  ///< of a set: a byte for each of at most 32 ways

  RowCacheShape shape;
  Array<Exec, std::uint64_t> tags;         ///< [sets, tag_words] byte w: tag_of way w's row, or 0
  Array<Exec, std::int64_t> rows;          ///< [sets, ways] or row_not_cached
  Array<Exec, std::int64_t> uses;          ///< [sets, ways] counted, halved at each populate
  Array<Exec, std::int64_t> versions;      ///< [sets, ways] of the cores that a copy is of; empty: copies do not age
  Array<Exec, std::int64_t> counted_rows;  ///< [sets, count_slots] or row_not_cached, by linear probing in the set
  Array<Exec, std::int64_t> counted_uses;  ///< [sets, count_slots] 0 where there is no row
  Array<Exec, std::int64_t> counted;       ///< [sets] rows in the count slots
  Array<Exec, RowCacheCounts> counts;      ///< [1]
};

/// Records which rows of a table are cached and in which slots, by the rule of reference::CachedRows, which it equals
/// for any number of threads: rows, uses and counts.
template <class Exec>
class RowCacheDirectory {
 public:
  /// Makes an empty cache, of at least one row, for a table of `table_rows` rows.
  RowCacheDirectory(const RowCacheShape& shape, std::int64_t table_rows, CacheWrites writes);

  const RowCacheShape& shape() const { return arrays_.shape; }
  const RowCacheArrays<Exec>& arrays() const { return arrays_; }
  std::int64_t bytes() const;

  /// Sets slots[i] to where rows[i] lies (see row_not_cached), `version` being that of the cores as they are (ignored
  /// where rows are trained). rows: [n], of the table, in any order, repeated or not. Counts nothing.
  void find(const Exec& exec, ConstArray<Exec, std::int64_t> rows, std::int64_t version,
            Array<Exec, std::int64_t> slots) const;

  /// Counts one use for each entry that find() gave: as a hit or a stale hit of its row, or as a miss.
  void count_found(const Exec& exec, ConstArray<Exec, std::int64_t> slots);

  /// Takes the rows of a step that find() found no copy of, or a stale one, and counts the former in the count slots of
  /// their sets or as drops; skips the stale ones. rows: [n] distinct; where they are not `ascending` they are sorted
  /// here, since smaller rows are counted first. uses: [n] of each.
  void count_missed(const Exec& exec, ConstArray<Exec, std::int64_t> rows, ConstArray<Exec, std::int64_t> uses,
                    bool ascending);

  /// Chooses the cached rows again by their uses, which it then halves. A row that stays keeps its slot; a copy that
  /// enters is stale until set_version(). Waits for the device.
  RowCacheChanges<Exec> populate(const Exec& exec);

  /// Records that the copies in these distinct slots are of this version of the cores now; skips what is no slot. Does
  /// nothing where rows are trained.
  void set_version(const Exec& exec, ConstArray<Exec, std::int64_t> slots, std::int64_t version);

  /// Returns the counts. Waits for the device.
  RowCacheCounts counts(const Exec& exec) const;

 private:
  struct Workspace {
    Scratch<Exec, std::int64_t> order{"shardmark::cache_order"}, sets{"shardmark::cache_sets"};
    Scratch<Exec, std::int64_t> first_change{"shardmark::cache_first_change"};
    Scratch<Exec, std::int64_t> left{"shardmark::cache_left"}, entered{"shardmark::cache_entered"};
    Scratch<Exec, std::int64_t> slots{"shardmark::cache_changed_slots"};
    Scratch<Exec, std::int64_t> leaving_rows{"shardmark::cache_leaving_rows"};
    Scratch<Exec, std::int64_t> leaving_slots{"shardmark::cache_leaving_slots"};
    Scratch<Exec, std::int64_t> entering_rows{"shardmark::cache_entering_rows"};
    Scratch<Exec, std::int64_t> entering_slots{"shardmark::cache_entering_slots"};
    UniqueRowsWorkspace<Exec> by_row, by_set;
  };

  RowCacheArrays<Exec> arrays_;
  std::int64_t table_rows_;
  Workspace workspace_;
};

/// Writes to `hits` the positions p with slots[p] >= 0 and to `misses` the others, stale ones among them; both
/// ascending. All are [n], of which as many are written as there are. Returns the number of misses; waits for the
/// device.
template <class Exec>
std::int64_t split_found(const Exec& exec, ConstArray<Exec, std::int64_t> slots, Array<Exec, std::int64_t> hits,
                         Array<Exec, std::int64_t> misses);

}  // namespace shardmark::kernels
