// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "datasets/id_mapping.hpp"
#include "datasets/test/fixture.hpp"

namespace shardmark::datasets {
namespace {

using Ids = std::vector<std::uint32_t>;

ValueTable counts_of(const std::map<std::uint32_t, std::int64_t>& counts) {
  ValueTable table;
  for (const auto& [value, count] : counts) table[value] = count;
  return table;
}

/// Column C1 holds `values` (missing where `missing` says so); the other columns are missing.
CriteoBlock column(const Ids& values, const std::vector<bool>& missing) {
  CriteoBlock block;
  block.rows = std::ssize(values);
  block.labels.resize(values.size());
  block.dense.resize(values.size() * criteo_dense);
  for (auto& other : block.categories) other.resize(values.size());
  block.categories[0] = values;
  for (std::size_t i = 0; i < values.size(); ++i)
    block.missing.push_back(~std::uint64_t{0} ^ (missing[i] ? 0 : std::uint64_t{1} << criteo_dense));
  return block;
}

Ids map_column(const IdMapping& mapping, const CriteoBlock& block, int c = 0) {
  Ids ids(static_cast<std::size_t>(block.rows));
  mapping.map(block, c, ids);
  return ids;
}

std::vector<std::int64_t> rows_of(std::int64_t first, std::int64_t others = 2) {
  std::vector<std::int64_t> rows(criteo_categories, others);
  rows[0] = first;
  return rows;
}

IdMapping frequency_of(std::int64_t rows, Dictionary dictionary) {
  std::vector<Dictionary> dictionaries(criteo_categories);
  dictionaries[0] = std::move(dictionary);
  return IdMapping::frequency(rows_of(rows), 2, dictionaries);
}

TEST(IdMapping, Modulo) {
  const CriteoBlock block = column({0, 9, 10, 11, 0xffffffff, 0}, {false, false, false, false, false, true});
  EXPECT_EQ(map_column(IdMapping::modulo(rows_of(10)), block), (Ids{0, 9, 0, 1, 5, 0}));  // 4294967295 mod 10 = 5
  EXPECT_EQ(map_column(IdMapping::modulo(rows_of(1)), block), (Ids{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(map_column(IdMapping::modulo(rows_of(std::int64_t{1} << 33)), block), (Ids{0, 9, 10, 11, 0xffffffff, 0}));
  EXPECT_EQ(map_column(IdMapping::modulo(rows_of(10)), block, 1), (Ids{0, 0, 0, 0, 0, 0}));
}

TEST(IdMapping, DictionaryIsOrderedByFallingCountThenValue) {
  const ValueTable counts = counts_of({{50, 3}, {7, 3}, {0, 5}, {9, 1}, {0xffffffff, 2}, {8, 2}});
  EXPECT_EQ(make_dictionary(counts, 1, 100).values, (Ids{0, 7, 50, 8, 0xffffffff, 9}));
  EXPECT_EQ(make_dictionary(counts, 2, 100).values, (Ids{0, 7, 50, 8, 0xffffffff}));
  EXPECT_EQ(make_dictionary(counts, 6, 100).values, Ids{});
}

TEST(IdMapping, DictionaryThatDoesNotFitIsCutAndCounted) {
  const ValueTable counts = counts_of({{50, 3}, {7, 3}, {0, 5}, {9, 1}});
  const Dictionary dictionary = make_dictionary(counts, 1, 4);
  EXPECT_EQ(dictionary.values, (Ids{0, 7}));
  EXPECT_EQ(dictionary.dropped_values, 2);
  EXPECT_EQ(dictionary.dropped_occurrences, 4);
  EXPECT_EQ(frequency_of(4, dictionary).dropped_summary(),
            "column C1: 2 values (4 occurrences) do not fit the table's 4 rows and count as rare (id 1)");
  EXPECT_EQ(make_dictionary(counts, 1, 6).dropped_values, 0);
  EXPECT_EQ(frequency_of(6, make_dictionary(counts, 1, 6)).dropped_summary(), "");
}

TEST(IdMapping, Frequency) {
  const IdMapping mapping = frequency_of(10, {.values = {0, 7, 0xffffffff}});
  const CriteoBlock block = column({7, 0, 0, 123, 0xffffffff, 7}, {false, false, true, false, false, true});
  EXPECT_EQ(map_column(mapping, block), (Ids{3, 2, 0, 1, 4, 0}));  // 123 was not seen: rare
  EXPECT_EQ(map_column(frequency_of(2, {}), block), (Ids{1, 1, 0, 1, 1, 0}));
  EXPECT_EQ(map_column(frequency_of(1, {}), block), (Ids{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(make_dictionary(counts_of({{5, 9}}), 1, 1).dropped_values, 1);
}

TEST(IdMapping, RefusesTablesThatCannotHoldTheRule) {
  EXPECT_CONTAINS(error_of([] {
                    IdMapping::modulo({1, 2});
                  }),
                  "26 categorical columns, but the workload has 2 features");
  EXPECT_CONTAINS(error_of([] { IdMapping::modulo(rows_of(0)); }),
                  "column C1: its table has 0 rows, 1 at least is needed");
  EXPECT_CONTAINS(error_of([] { frequency_of(0, {}); }), "column C1: its table has 0 rows");
  EXPECT_CONTAINS(error_of([] { frequency_of(3, {.values = {1, 2}}); }), "column C1: its dictionary holds 2 values");
}

class IdMappingFile : public DatasetTest {};

TEST_F(IdMappingFile, CountsAFile) {
  // C1: aa three times, bb twice, cc once, one missing; C2: always missing.
  std::string text;
  for (const char* value : {"aa", "bb", "", "cc", "bb", "aa", "aa"}) text += criteo_line("0", {{criteo_dense, value}});
  const IdMapping mapping = count_frequencies(write("train.tsv", text), {}, rows_of(100), 2, quiet);
  EXPECT_EQ(mapping.dictionaries()[0].values, (Ids{0xaa, 0xbb}));
  EXPECT_EQ(mapping.dictionaries()[1].values, Ids{});
  EXPECT_EQ(mapping.min_count(), 2);
  CriteoReader reader(path("train.tsv"));
  CriteoBlock block;
  reader.next(block);
  EXPECT_EQ(map_column(mapping, block), (Ids{2, 3, 0, 1, 3, 2, 2}));
  EXPECT_EQ(map_column(mapping, block, 1), (Ids{0, 0, 0, 0, 0, 0, 0}));
}

TEST(ValueTable, CountsLikeAMap) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::uint64_t range = 1 + random() % 5000;
    ValueTable table;
    std::map<std::uint32_t, std::int64_t> expected;
    for (int i = 0; i < 5000; ++i) {
      const auto value = static_cast<std::uint32_t>(random() % range * 0x10001);
      ++table[value];
      ++expected[value];
    }
    EXPECT_EQ(table.size(), expected.size());
    std::map<std::uint32_t, std::int64_t> found;
    table.for_each([&](std::uint32_t value, std::int64_t count) { found[value] = count; });
    EXPECT_EQ(found, expected);
    EXPECT_EQ(table.find(0xfffffffe), 0);
    for (const auto& [value, count] : expected) EXPECT_EQ(table.find(value), count);
  }
}

}  // namespace
}  // namespace shardmark::datasets
