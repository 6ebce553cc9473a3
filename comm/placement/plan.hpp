// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/table.hpp"

namespace shardmark::placement {

/// Holds the rows begin, begin + stride, ... below end. A contiguous block has stride 1; shard k of a table split
/// modulo n is {k, rows, n}. The owner keeps them densely: local row l is global row begin + l * stride.
struct RowSet {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t stride = 1;

  constexpr std::int64_t count() const { return end <= begin ? 0 : (end - begin - 1) / stride + 1; }
  constexpr bool contains(std::int64_t row) const { return row >= begin && row < end && (row - begin) % stride == 0; }
  constexpr std::int64_t local(std::int64_t row) const { return (row - begin) / stride; }
  constexpr std::int64_t global(std::int64_t local_row) const { return begin + local_row * stride; }

  bool operator==(const RowSet&) const = default;
};

/// Holds the rows of a table that a shard has: those of its RowSet or, where rows come and go
/// (StorageChoice::comes_and_goes), the keys of the buckets whose rows these are (row_of_bucket), each of which is its
/// own local row.
struct HeldRows : RowSet {
  std::optional<KeyBuckets> buckets = {};
  std::int64_t table_rows = 0;
  std::int64_t room = 0;  ///< of the table, Table::most_rows()
  bool any_key = false;

  HeldRows() = default;
  HeldRows(const RowSet& rows) : RowSet(rows) {}  // NOLINT: all rows of a RowSet are held so
  /// Takes the number of the table.
  HeldRows(const RowSet& rows, const Table& table, std::int64_t number);

  bool contains(std::int64_t row) const {
    return RowSet::contains(buckets ? row_of_bucket(buckets->bucket(row), table_rows) : row);
  }
  std::int64_t local(std::int64_t row) const { return buckets ? row : RowSet::local(row); }
  std::int64_t global(std::int64_t local_row) const { return buckets ? local_row : RowSet::global(local_row); }
  /// Return the least number above all ids of its rows on their way, which are keys, unless these are any, and above
  /// their places at the owner: there keys that have no row take those behind the others.
  std::int64_t most_ids() const { return buckets ? table_rows : count(); }
  /// Returns how many rows may be there at a time: of buckets, whose keys are random, 8 standard deviations more than
  /// are expected.
  std::int64_t most_rows() const;
  std::int64_t most_places() const { return buckets ? 2 * room : count(); }
};

/// A Shard is columns [column_begin, column_end) of some rows of a table, held by one rank.
struct Shard {
  RowSet rows;
  std::int64_t column_begin = 0;
  std::int64_t column_end = 0;
  int rank = 0;

  constexpr std::int64_t columns() const { return column_end - column_begin; }

  bool operator==(const Shard&) const = default;
};

/// Says where one table lives: a full copy on every rank (data_parallel, no shards), or shards that own every cell
/// once; where there are hot rows, every rank has a copy of the first hot_rows rows and the shards own the others.
struct TablePlacement {
  bool data_parallel = false;
  std::vector<Shard> shards;
  std::int64_t hot_rows = 0;
  std::optional<Storage> storage = {};  ///< how its rows are stored; absent: as the workload says

  bool operator==(const TablePlacement&) const = default;
};

/// Limits the ranks of a plan, so that loads and plan files, which have an entry per rank, stay within memory.
inline constexpr int largest_job = 1 << 20;

/// A Plan is the placement of tables[t] for every table t of a workload. It is pure data; check.hpp says when it is
/// sound.
struct Plan {
  std::string name;
  int ranks = 0;
  std::vector<TablePlacement> tables;

  bool operator==(const Plan&) const = default;
};

/// Returns the shard that holds the whole table.
Shard whole(const Table& table, int rank);

/// Returns block k of the `blocks` that TorchRec cuts rows into: ceil(rows / blocks) rows each, the last ones fewer or
/// none. Its ranks find the owner of a row by that number alone.
RowSet row_block(std::int64_t rows, std::int64_t blocks, std::int64_t k);

/// Returns "data_parallel", "table_wise" (one shard), "row_wise" (shards differ in rows only), "column_wise" (in
/// columns only) or "grid"; with hot rows it returns "hot_rows+" and the kind of the shards of the other rows.
std::string_view kind_of(const TablePlacement& placement);

/// Returns the first rows of the table, of which every rank has a copy: all rows of a data_parallel one, else the hot
/// rows.
RowSet replicated_rows(const TablePlacement& placement, const Table& table);
/// Returns whether every rank has a copy of any rows.
bool has_replicas(const TablePlacement& placement);

/// Returns the table with the storage that its placement gives it.
Table stored(Table table, const TablePlacement& placement);
std::vector<Table> stored(std::span<const Table> tables, const Plan& plan);

/// Returns the number of sums over whole rows that the holders of different columns complete together in each update:
/// row_sum_count of the optimizer where shards hold only some of the columns, else 0.
std::int64_t exchanged_row_sums(const Table& table, const TablePlacement& placement);

/// Groups the shards that hold the same rows, by column, in the order of their rows.
std::vector<std::vector<Shard>> shards_by_rows(const TablePlacement& placement);

/// Counts what one rank keeps. Rows are row slices: a column shard of r rows counts r. Dense gradient buffers, which a
/// step needs for data_parallel tables, are not included.
struct RankLoad {
  std::int64_t tables = 0;  ///< tables of which the rank holds anything
  std::int64_t rows = 0;
  std::int64_t table_bytes = 0;  ///< values, as the tables store them
  std::int64_t state_bytes = 0;  ///< fp32 optimizer state

  std::int64_t bytes() const { return table_bytes + state_bytes; }
  RankLoad& operator+=(const RankLoad& other);
  bool operator==(const RankLoad&) const = default;
};

/// Returns the bytes of that many rows and columns of a table as it is stored, with their optimizer state; of all of it
/// where shards do not split it. They are a double: a plan that is refused may have more bytes than 64 bits count.
double stored_bytes(const Table& table, std::int64_t rows, std::int64_t columns);

/// Returns the load that `shard` of `table`, as it is stored, puts on its rank (tables = 1). For a tensor train it is
/// that of its cores and its cache, whole whatever the shard, because support.hpp lets no plan split it. Throws
/// InputError where no cores fit the table, and where 64 bits do not count its bytes.
RankLoad load_of(const Shard& shard, const Table& table);

/// Returns the loads of ranks 0 .. plan.ranks - 1 with the tables stored as the plan says. The plan must be sound
/// (plan_check.hpp).
std::vector<RankLoad> loads_of(const Plan& plan, std::span<const Table> tables);

}  // namespace shardmark::placement
