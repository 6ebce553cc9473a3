// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/criteo_tsv.hpp"
#include "datasets/value_table.hpp"
#include "reference/named.hpp"

namespace shardmark::datasets {

/// Says how a raw 32-bit value becomes a row of its table.
enum class IdRule { modulo, frequency, raw };

inline constexpr std::array id_rules{
    Choice<IdRule>{"modulo", "the 32-bit value modulo the table's rows; a missing value counts as 0", IdRule::modulo},
    Choice<IdRule>{"frequency", "0 for missing, 1 for rarer than --min-count, then by falling count, ties by value",
                   IdRule::frequency},
    Choice<IdRule>{"raw", "the 32-bit value itself, of tables of storage dynamic; a missing value counts as 0",
                   IdRule::raw},
};
constexpr auto choices_of(IdRule) { return Choices{"id rule", id_rules}; }

/// Holds the values of one column that have an id of their own, under the frequency rule: values[i] has id i + 2.
struct Dictionary {
  std::vector<std::uint32_t> values;
  std::int64_t dropped_values = 0;       ///< frequent enough, but beyond the table's rows: they get id 1
  std::int64_t dropped_occurrences = 0;  ///< how often those occur
};

/// Returns the values of `counts` (occurrences per value, missing ones left out) that occur at least `min_count` times,
/// by falling count, ties by rising value, as many as a table of `rows` rows holds beside the ids 0 and 1.
Dictionary make_dictionary(const ValueTable& counts, std::int64_t min_count, std::int64_t rows);

/// Maps the columns of a Criteo file into tables of the given rows.
class IdMapping {
 public:
  /// Makes a mapping by rule modulo; rows [26], each at least 1.
  static IdMapping modulo(std::vector<std::int64_t> rows);
  /// Makes a mapping by rule frequency with one dictionary per column; rows [26], each at least 1 (a table of one row
  /// takes every value). Throws InputError naming the column when a dictionary has more values than fit.
  static IdMapping frequency(std::vector<std::int64_t> rows, std::int64_t min_count,
                             std::vector<Dictionary> dictionaries);

  IdRule rule() const { return rule_; }
  std::int64_t min_count() const { return min_count_; }
  const std::vector<std::int64_t>& rows() const { return rows_; }
  const std::vector<Dictionary>& dictionaries() const { return dictionaries_; }  ///< empty for modulo

  /// Writes the ids [block.rows] of column `column` of a block; every id < rows()[column].
  void map(const CriteoBlock& block, int column, std::span<std::uint32_t> ids) const;

  /// Returns one line per column whose dictionary did not fit its table; empty when all did.
  std::string dropped_summary() const;

 private:
  IdRule rule_ = IdRule::modulo;
  std::int64_t min_count_ = 0;
  std::vector<std::int64_t> rows_;
  std::vector<Dictionary> dictionaries_;
  std::vector<ValueTable> ids_;
};

/// This is called now and then with the number of samples done so far.
using Progress = std::function<void(std::int64_t)>;

/// Runs the first pass of the frequency rule: it reads the whole file at `path` and counts.
IdMapping count_frequencies(const std::string& path, const CriteoReaderOptions& options, std::vector<std::int64_t> rows,
                            std::int64_t min_count, const Progress& progress);

}  // namespace shardmark::datasets
