// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/spec_entries.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>

#include "reference/named.hpp"
#include "workloads/cases/spec_key.hpp"

namespace shardmark::workloads {
namespace {

std::string numbered(std::string_view name, std::int64_t i) { return fmt::format("{}_{}", name, i); }

/// Returns "T" of "T_0"; empty where it is not the first of several.
std::string_view stem_of(std::string_view name) {
  return name.ends_with("_0") ? name.substr(0, name.size() - 2) : std::string_view();
}

bool alike(const Table& a, const Table& b) {
  return a.rows == b.rows && a.dim == b.dim && a.optimizer == b.optimizer && a.storage == b.storage &&
         a.value_type == b.value_type && a.stochastic_rounding == b.stochastic_rounding &&
         a.tensor_train == b.tensor_train && a.dynamic == b.dynamic && a.any_key == b.any_key && a.keys == b.keys;
}

/// Returns how many tables from `first` on are alike and called stem_0, stem_1, ...
std::int64_t run_of(std::span<const Table> tables, std::size_t first, std::string_view stem) {
  std::int64_t length = 1;
  for (std::size_t t = first + 1; t < tables.size(); ++t, ++length)
    if (tables[t].name != numbered(stem, length) || !alike(tables[t], tables[first])) break;
  return length;
}

/// Holds the number of the first table of an entry, or of a single table, and how many tables it has.
using Tables = std::pair<std::int64_t, std::int64_t>;

std::map<std::string, Tables, std::less<>> tables_by_name(std::span<const TableEntry> entries) {
  std::map<std::string, Tables, std::less<>> numbers;
  std::int64_t next = 0;
  for (const TableEntry& entry : entries) {
    numbers[entry.table.name] = {next, entry.tables()};
    for (std::int64_t i = 0; entry.count && i < *entry.count; ++i)
      numbers[numbered(entry.table.name, i)] = {next + i, 1};
    next += entry.tables();
  }
  return numbers;
}

/// Returns whether features [first, first + count) are those of an entry: stem_i reads table number first_table + i.
bool is_entry(std::span<const Feature> features, std::size_t first, std::string_view stem, std::int64_t first_table,
              std::int64_t count) {
  if (stem.empty() || count < 2 || std::ssize(features) - static_cast<std::int64_t>(first) < count) return false;
  const Feature& like = features[first];
  for (std::int64_t i = 0; i < count; ++i) {
    const Feature& feature = features[first + i];
    if (feature.name != numbered(stem, i) || feature.table != first_table + i ||
        reading_of(feature) != reading_of(like))
      return false;
  }
  return true;
}

}  // namespace

std::vector<Table> tables_of(std::span<const TableEntry> entries, const std::string& where) {
  std::vector<Table> tables;
  for (const TableEntry& entry : entries)
    for (std::int64_t i = 0; i < entry.tables(); ++i) {
      tables.push_back(entry.table);
      if (entry.count) tables.back().name = numbered(entry.table.name, i);
    }
  std::set<std::string> names;
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const auto require_new = [&](const std::string& name) {
      if (!names.insert(name).second)
        throw SpecError(fmt::format("{}: two tables are called \"{}\"", where, name),
                        fmt::format("/tables/{}/name", e));
    };
    const TableEntry& entry = entries[e];
    require_new(entry.table.name);
    for (std::int64_t i = 0; entry.count && i < *entry.count; ++i) require_new(numbered(entry.table.name, i));
  }
  return tables;
}

std::vector<Feature> features_of(std::span<const FeatureEntry> features, std::span<const TableEntry> tables,
                                 const std::string& where) {
  const auto numbers = tables_by_name(tables);
  std::set<std::string_view> several;
  for (const TableEntry& entry : tables)
    if (entry.count) several.insert(entry.table.name);
  std::vector<Feature> all;
  std::set<std::string> names;  // each has a place of its own in an export
  for (std::size_t f = 0; f < features.size(); ++f) {
    const FeatureEntry& entry = features[f];
    const auto found = numbers.find(entry.table);
    if (found == numbers.end()) {
      std::vector<std::string_view> valid;
      for (const TableEntry& table : tables) valid.push_back(table.table.name);
      const std::string meant = suggestion(entry.table, valid);
      throw SpecError(fmt::format("{}: features[{}]: no table is called \"{}\"{}", where, f, entry.table,
                                  meant.empty() ? "" : "; " + meant.substr(0, meant.size() - 1)),
                      fmt::format("/features/{}/table", f));
    }
    const auto [first, count] = found->second;
    for (std::int64_t i = 0; i < count; ++i) {
      Feature& feature = all.emplace_back(entry.feature);
      feature.table = first + i;
      if (several.contains(entry.table)) feature.name = numbered(entry.feature.name, i);
      if (!names.insert(feature.name).second)
        throw SpecError(fmt::format("{}: two features are called \"{}\"", where, feature.name),
                        fmt::format("/features/{}/name", f));
    }
  }
  return all;
}

std::vector<TableEntry> entries_of(std::span<const Table> tables) {
  std::set<std::string_view> names;
  for (const Table& table : tables) names.insert(table.name);
  std::vector<TableEntry> entries;
  for (std::size_t t = 0; t < tables.size();) {
    const std::string_view stem = stem_of(tables[t].name);
    const std::int64_t count = stem.empty() || names.contains(stem) ? 1 : run_of(tables, t, stem);
    TableEntry& entry = entries.emplace_back(tables[t]);
    if (count > 1) {
      entry.table.name = stem;
      entry.count = count;
    }
    t += count;
  }
  return entries;
}

std::vector<FeatureEntry> entries_of(std::span<const Feature> features, std::span<const Table> tables,
                                     std::span<const TableEntry> entries) {
  std::map<std::int64_t, const TableEntry*> by_first_table;
  std::int64_t next = 0;
  for (const TableEntry& entry : entries) {
    by_first_table[next] = &entry;
    next += entry.tables();
  }
  std::vector<FeatureEntry> result;
  for (std::size_t f = 0; f < features.size();) {
    const auto entry = by_first_table.find(features[f].table);
    const std::string_view stem = stem_of(features[f].name);
    const std::int64_t count = entry == by_first_table.end() ? 1 : entry->second->tables();
    if (is_entry(features, f, stem, features[f].table, count)) {
      result.push_back({features[f], entry->second->table.name});
      result.back().feature.name = stem;
      f += count;
    } else {
      result.push_back({features[f], tables[features[f].table].name});
      ++f;
    }
  }
  return result;
}

}  // namespace shardmark::workloads
