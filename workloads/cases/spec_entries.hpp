// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/table.hpp"

// How a spec says many tables in one line: {"name": "T", "count": 3, ...} are the tables T_0, T_1 and T_2, and a
// feature F whose table is "T" is F_0, F_1 and F_2, one of each.

namespace shardmark::workloads {

/// An entry of "tables".
struct TableEntry {
  Table table;
  std::optional<std::int64_t> count = {};  ///< absent: one, called as it is

  std::int64_t tables() const { return count.value_or(1); }
};

/// An entry of "features".
struct FeatureEntry {
  Feature feature;
  std::string table;  ///< that of one table, or of an entry
};

/// All tables. Throws InputError, prefixed by `where`, where two tables or entries have a name.
std::vector<Table> tables_of(std::span<const TableEntry> entries, const std::string& where);

/// All features of the tables of `tables`. Throws InputError, prefixed by `where`, where there is no such table.
std::vector<Feature> features_of(std::span<const FeatureEntry> features, std::span<const TableEntry> tables,
                                 const std::string& where);

/// Neighbours that are alike and numbered from 0 are one entry, so that many tables are read and written alike.
std::vector<TableEntry> entries_of(std::span<const Table> tables);

/// The same of the features that read `tables`, which `entries` stand for.
std::vector<FeatureEntry> entries_of(std::span<const Feature> features, std::span<const Table> tables,
                                     std::span<const TableEntry> entries);

}  // namespace shardmark::workloads
