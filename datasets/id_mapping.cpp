// SPDX-License-Identifier: Apache-2.0
#include "datasets/id_mapping.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/error.hpp"

namespace shardmark::datasets {
namespace {

constexpr std::uint32_t missing_id = 0;
constexpr std::uint32_t rare_id = 1;
constexpr std::uint32_t first_id = 2;

void check_rows(const std::vector<std::int64_t>& rows) {
  if (std::ssize(rows) != criteo_categories)
    throw InputError(
        fmt::format("Criteo data have 26 categorical columns, but the workload has {} features; write samples of "
                    "other workloads as HDF5 (docs/workload-specs.md)",
                    rows.size()));
  for (std::size_t c = 0; c < rows.size(); ++c)
    if (rows[c] < 1)
      throw InputError(fmt::format("column C{}: its table has {} rows, 1 at least is needed", c + 1, rows[c]));
}

}  // namespace

Dictionary make_dictionary(const ValueTable& counts, std::int64_t min_count, std::int64_t rows) {
  struct Entry {
    std::int64_t count;
    std::uint32_t value;
  };
  std::vector<Entry> entries;
  counts.for_each([&](std::uint32_t value, std::int64_t count) {
    if (count >= min_count) entries.push_back({count, value});
  });
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.count != b.count ? a.count > b.count : a.value < b.value; });

  Dictionary dictionary;
  const auto kept = std::clamp<std::int64_t>(rows - first_id, 0, std::ssize(entries));
  dictionary.values.reserve(kept);
  for (const Entry& entry : entries) {
    if (std::ssize(dictionary.values) < kept) {
      dictionary.values.push_back(entry.value);
    } else {
      ++dictionary.dropped_values;
      dictionary.dropped_occurrences += entry.count;
    }
  }
  return dictionary;
}

IdMapping IdMapping::modulo(std::vector<std::int64_t> rows) {
  check_rows(rows);
  IdMapping mapping;
  mapping.rows_ = std::move(rows);
  return mapping;
}

IdMapping IdMapping::frequency(std::vector<std::int64_t> rows, std::int64_t min_count,
                               std::vector<Dictionary> dictionaries) {
  check_rows(rows);
  IdMapping mapping;
  mapping.rule_ = IdRule::frequency;
  mapping.min_count_ = min_count;
  for (std::size_t c = 0; c < rows.size(); ++c) {
    const auto& values = dictionaries.at(c).values;
    if (std::ssize(values) > std::max<std::int64_t>(0, rows[c] - first_id))
      throw InputError(fmt::format(
          "column C{}: its dictionary holds {} values, more than a table of {} rows takes beside missing and rare",
          c + 1, values.size(), rows[c]));
    ValueTable& ids = mapping.ids_.emplace_back(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) ids[values[i]] = static_cast<std::int64_t>(i) + first_id;
  }
  mapping.rows_ = std::move(rows);
  mapping.dictionaries_ = std::move(dictionaries);
  return mapping;
}

void IdMapping::map(const CriteoBlock& block, int column, std::span<std::uint32_t> ids) const {
  const auto c = static_cast<std::size_t>(column);
  const auto& values = block.categories[c];
  if (rule_ == IdRule::modulo) {
    if (rows_[c] > UINT32_MAX) {
      std::copy(values.begin(), values.end(), ids.begin());
      return;
    }
    const auto rows = static_cast<std::uint32_t>(rows_[c]);
    for (std::size_t i = 0; i < values.size(); ++i) ids[i] = values[i] % rows;
    return;
  }
  const std::uint32_t rare = rows_[c] == 1 ? missing_id : rare_id;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (block.is_missing(static_cast<std::int64_t>(i), criteo_dense + column)) {
      ids[i] = missing_id;
      continue;
    }
    const std::int64_t id = ids_[c].find(values[i]);
    ids[i] = id == 0 ? rare : static_cast<std::uint32_t>(id);
  }
}

std::string IdMapping::dropped_summary() const {
  std::string text;
  for (std::size_t c = 0; c < dictionaries_.size(); ++c) {
    const Dictionary& dictionary = dictionaries_[c];
    if (dictionary.dropped_values == 0) continue;
    text += fmt::format(
        "{}column C{}: {} values ({} occurrences) do not fit the table's {} rows and count as rare (id 1)",
        text.empty() ? "" : "\n", c + 1, dictionary.dropped_values, dictionary.dropped_occurrences, rows_[c]);
  }
  return text;
}

IdMapping count_frequencies(const std::string& path, const CriteoReaderOptions& options, std::vector<std::int64_t> rows,
                            std::int64_t min_count, const Progress& progress) {
  check_rows(rows);
  std::vector<ValueTable> counts(criteo_categories);
  CriteoReader reader(path, options);
  CriteoBlock block;
  std::int64_t samples = 0;
  while (reader.next(block)) {
    for (std::size_t c = 0; c < counts.size(); ++c)
      for (std::int64_t row = 0; row < block.rows; ++row)
        if (!block.is_missing(row, criteo_dense + static_cast<int>(c))) ++counts[c][block.categories[c][row]];
    progress(samples += block.rows);
  }
  std::vector<Dictionary> dictionaries;
  for (std::size_t c = 0; c < counts.size(); ++c)
    dictionaries.push_back(make_dictionary(counts[c], min_count, rows[c]));
  return IdMapping::frequency(std::move(rows), min_count, std::move(dictionaries));
}

}  // namespace shardmark::datasets
