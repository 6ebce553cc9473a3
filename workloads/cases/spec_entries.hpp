// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/table.hpp"

// A spec describes many tables in one line: {"name": "T", "count": 3, ...} are the tables T_0, T_1 and T_2, and a
// feature F whose table is "T" is F_0, F_1 and F_2, one of each.

namespace shardmark::workloads {

/// Is an entry of "tables".
struct TableEntry {
  Table table;
  std::optional<std::int64_t> count = {};  ///< absent: one, with the entry's name

  std::int64_t tables() const { return count.value_or(1); }
};

/// Is an entry of "features".
struct FeatureEntry {
  Feature feature;
  std::string table;  ///< that of one table, or of an entry
};

/// Returns all tables. Throws InputError, prefixed by `where`, where two tables or entries have a name.
std::vector<Table> tables_of(std::span<const TableEntry> entries, const std::string& where);

/// Returns all features of the tables of `tables`. Throws InputError, prefixed by `where`, where there is no such
/// table.
std::vector<Feature> features_of(std::span<const FeatureEntry> features, std::span<const TableEntry> tables,
                                 const std::string& where);

/// Returns entries for the tables: neighbours that are alike and numbered from 0 are one entry, so that many tables are
/// read and written alike.
std::vector<TableEntry> entries_of(std::span<const Table> tables);

/// Returns the same for the features that read `tables`, which `entries` stand for.
std::vector<FeatureEntry> entries_of(std::span<const Feature> features, std::span<const Table> tables,
                                     std::span<const TableEntry> entries);

}  // namespace shardmark::workloads
