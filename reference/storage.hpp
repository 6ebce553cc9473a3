// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "reference/computed_rows.hpp"
#include "reference/tensor_train/stored_cores.hpp"

namespace shardmark::reference {

/// Is a choice of `storages`, with what plans, bytes and checks need to know of it.
struct StorageChoice : Choice<Storage> {
  bool splits;        ///< a shard may hold some rows and columns of a table; else it is the whole table
  bool can_prefetch;  ///< rows may be looked up before earlier steps have updated them
  /// Returns the tables that are stored and trained: the table itself, or those from which its rows are computed.
  /// Throws InputError where the table is specified in a way that cannot be.
  std::vector<Table> (*parts)(const Table& table);
  /// Returns [parts]: for some rows of the table, the rows of each part that they are computed from, in their order.
  std::vector<std::vector<std::int64_t>> (*rows_of_parts)(const Table& table, std::span<const std::int64_t> rows);
  /// Returns the rows that lie in memory beside the parts, as a table of their own, whose optimizer is none where they
  /// are not trained. A table of 0 rows means that there are none.
  Table (*cached_rows)(const Table& table);
  /// Makes the serial definition of rows that are computed. Null: a row is as it is stored.
  std::unique_ptr<ComputedRows> (*computed)(const Table& table, std::int64_t number, const RowValues& initial);

  /// Returns the flops of computing so many distinct rows, spread evenly over the table, and of the gradients of the
  /// parts. Null: none.
  LookupFlops (*expected_flops)(const Table& table, double rows);

  constexpr bool computes() const { return computed != nullptr; }
};

inline std::vector<Table> the_table(const Table& table) { return {table}; }
inline std::vector<std::vector<std::int64_t>> the_rows(const Table&, std::span<const std::int64_t> rows) {
  return {{rows.begin(), rows.end()}};
}
inline Table no_rows(const Table& table) { return {.name = table.name, .dim = table.dim}; }

/// A storage is an entry here and one in workloads/tables/storages.hpp.
inline constexpr std::array storages{
    StorageChoice{{"dense", "every row as its values, one after the other", Storage::dense},
                  true,
                  true,
                  the_table,
                  the_rows,
                  no_rows,
                  nullptr,
                  nullptr},
    StorageChoice{{"tt", "a tensor train: products of slices of a few small cores", Storage::tt},
                  false,
                  false,
                  core_tables,
                  slices_of,
                  cached_rows,
                  computed_by_cores,
                  contraction_flops},
};
constexpr auto choices_of(Storage) { return Choices{"storage", storages}; }

/// Returns the entry of the storage of a table.
constexpr const StorageChoice& storage_of(const Table& table) {
  const auto found = std::ranges::find(storages, table.storage, &StorageChoice::value);
  return found == storages.end() ? storages.front() : *found;  // of a test: it keeps rows as dense does
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::StorageChoice, reference::storage_of, reference::storages;
}  // namespace shardmark
