// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "reference/table.hpp"

namespace shardmark::workloads {

/// Is a piece of a table in this rank's memory: the rows of `rows` and the columns [column_begin, column_end). A
/// data-parallel table is one such piece, whole, on every rank; so are the hot rows of a table.
struct LocalShard {
  std::int64_t table = 0;
  placement::HeldRows rows;
  std::int64_t column_begin = 0, column_end = 0;
  bool replicated = false;

  std::int64_t dim() const { return column_end - column_begin; }
};

/// Is a shard whose local row i has key first_key + i.
struct KeyedShard {
  std::int64_t shard = 0;
  std::int64_t first_key = 0;
};

/// Is one full set of rows of a feature's table for one range of columns. A feature's ids go once to each of its
/// strips, those of hot rows staying at home.
struct Strip {
  std::int64_t feature = 0;
  std::int64_t column_begin = 0, column_end = 0;
  std::vector<std::int64_t> slots;  ///< its shards' slots, in the order of their first rows
  std::int64_t hot_rows = 0;        ///< first rows that no slot has, because every rank has a copy; then of all columns

  std::int64_t dim() const { return column_end - column_begin; }
  bool row_split() const { return slots.size() > 1; }
};

/// Is a (strip, shard) pair: the unit of what travels. Slots are ordered by (rank, feature, shard), so that what goes
/// to one rank is contiguous.
struct Slot {
  std::int64_t strip = 0;
  std::int64_t feature = 0;
  std::int64_t local_shard = 0;  ///< number among the local shards of `rank`
  int rank = 0;
  placement::HeldRows rows;
};

/// Is a plan, seen from one rank: what it holds, and where the ids of each feature go.
struct ShardLayout {
  ShardLayout(const placement::Plan& plan, const std::vector<Table>& tables, const std::vector<Feature>& features,
              int rank);

  /// Returns the part that serves the chosen tables and features, which are those that read these tables. Shards are
  /// all kept, under their numbers.
  ShardLayout of_tables(const std::vector<bool>& tables, const std::vector<bool>& features) const;

  int rank;
  int ranks;
  std::vector<LocalShard> shards;      ///< of this rank, replicated ones last
  std::vector<std::int64_t> replicas;  ///< numbers of the replicated shards that are served
  /// These are the other shards that served features read, ascending, and the number of their keys, of which a shard
  /// has rows.most_places().
  std::vector<KeyedShard> exchanged;
  std::int64_t exchanged_keys = 0;
  std::vector<std::int64_t> replicated_features;  ///< those that read replicated rows: of a whole table, or hot ones
  std::vector<bool> served;                       ///< [features]
  std::vector<Strip> strips;
  std::vector<Slot> slots;
  std::vector<std::int64_t> first_slot;  ///< [ranks + 1]: slots of rank r are first_slot[r] .. first_slot[r + 1]

  std::span<const Slot> own_slots() const {
    const auto begin = static_cast<std::size_t>(first_slot[rank]);
    const auto end = static_cast<std::size_t>(first_slot[rank + 1]);
    return std::span(slots).subspan(begin, end - begin);
  }
  std::int64_t dim_of(const Slot& slot) const { return strips[slot.strip].dim(); }
  /// Returns the numbers of the exchanged shards.
  std::vector<std::int64_t> exchanged_numbers() const;
  /// Returns the first key of an exchanged shard; and the exchanged shard that has a key, of those with one first key
  /// the last, as the others have no rows.
  std::int64_t first_key(std::int64_t shard) const;
  const KeyedShard& exchanged_of(std::int64_t key) const;

 private:
  void list_exchanged();
};

}  // namespace shardmark::workloads
