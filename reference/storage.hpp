// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "reference/computed_rows.hpp"
#include "reference/named.hpp"
#include "reference/table.hpp"

namespace shardmark::reference {

/// Return what holds for rows that are stored as they are, and as StorageChoice says.
inline std::int64_t bytes_of_values(const Table& table, std::int64_t columns) {
  return row_bytes(table.value_type, columns);
}
inline std::vector<Table> the_table(const Table& table) { return {table}; }
inline std::vector<std::vector<std::int64_t>> the_rows(const Table&, std::span<const std::int64_t> rows) {
  return {{rows.begin(), rows.end()}};
}
inline Table no_rows(const Table& table) { return {.name = table.name, .dim = table.dim}; }

/// Is a choice of storages(), with what plans, bytes and checks need to know of it. Members with a default value
/// concern storages that keep rows otherwise than dense does.
struct StorageChoice : Choice<Storage> {
  /// Returns the bytes of the values of one row, of so many of its columns, where a shard may hold some of them.
  std::int64_t (*row_bytes)(const Table& table, std::int64_t columns) = bytes_of_values;
  bool splits = true;        ///< a shard may hold some rows and columns of a table; else it is the whole table
  bool can_prefetch = true;  ///< rows may be looked up before earlier steps have updated them
  /// Says whether rows come and go by Table::dynamic: plans place the buckets of their keys (row_of_bucket), and each
  /// has one place at a time.
  bool comes_and_goes = false;
  bool keeps_rows = false;  ///< a store of it can keep rows as they are for a save while later steps update them
  /// Returns the tables that are stored and trained: the table itself, or those from which its rows are computed.
  /// Throws InputError where the table is specified in a way that cannot be.
  std::vector<Table> (*parts)(const Table& table) = the_table;
  /// Returns [parts]: for some rows of the table, the rows of each part that they are computed from, in their order.
  std::vector<std::vector<std::int64_t>> (*rows_of_parts)(const Table& table,
                                                          std::span<const std::int64_t> rows) = the_rows;
  /// Returns the rows that lie in memory beside the parts, as a table of their own, whose optimizer is none where they
  /// are not trained. A table of 0 rows means that there are none.
  Table (*cached_rows)(const Table& table) = no_rows;
  /// Makes the serial definition of rows that are computed. Null: a row is as it is stored.
  std::unique_ptr<ComputedRows> (*computed)(const Table& table, std::int64_t number,
                                            const RowValues& initial) = nullptr;

  /// Returns the flops of computing so many distinct rows, spread evenly over the table, and of the gradients of the
  /// parts. Null: none.
  LookupFlops (*expected_flops)(const Table& table, double rows) = nullptr;

  constexpr bool computes() const { return computed != nullptr; }
};

/// Returns the table of storages (storage.cpp).
const std::vector<StorageChoice>& storages();
inline auto choices_of(Storage) { return Choices{"storage", storages()}; }

/// Is an entry that exists as long as this object does, for tests (workloads/tables/storages.hpp adds all of one).
class AddedStorageChoice {
 public:
  explicit AddedStorageChoice(const StorageChoice& choice);
  ~AddedStorageChoice();
  AddedStorageChoice(const AddedStorageChoice&) = delete;
  AddedStorageChoice& operator=(const AddedStorageChoice&) = delete;
};

/// Returns the entry of the storage of a table.
const StorageChoice& storage_of(const Table& table);

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::StorageChoice, reference::storage_of, reference::storages;
}  // namespace shardmark
