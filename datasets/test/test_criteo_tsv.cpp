// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "datasets/criteo_tsv.hpp"
#include "datasets/test/fixture.hpp"

namespace shardmark::datasets {
namespace {

class CriteoTsv : public DatasetTest {
 protected:
  CriteoBlock read(const std::string& text, CriteoReaderOptions options = {}) {
    CriteoReader reader(write("train.tsv", text), options);
    CriteoBlock block;
    reader.next(block);
    return block;
  }
  std::string error(const std::string& text, CriteoReaderOptions options = {}) {
    return error_of([&] { read(text, options); });
  }
};

constexpr int C1 = criteo_dense;
constexpr int C26 = criteo_fields - 1;

// The first lines of the format's description, with values of our own.
const std::string full_line =
    "1\t1\t-"
    "1\t5\t0\t1382\t4\t15\t2\t181\t1\t2\t7\t16777216\t68fd1e64\t80E26C9B\tfb936136\t0\t1\tffffffff\t7\t8\t9\t0a\tb\tc\t"
    "d\te\tf\t10\t11\t12\t13\t14\t15\t16\t17\t18\t19\t1a\n";

TEST_F(CriteoTsv, ReadsEveryField) {
  const CriteoBlock block = read(full_line);
  ASSERT_EQ(block.rows, 1);
  EXPECT_EQ(block.labels, std::vector<std::uint8_t>{1});
  EXPECT_EQ(block.dense, (std::vector<float>{1, -1, 5, 0, 1382, 4, 15, 2, 181, 1, 2, 7, 16777216}));
  const std::vector<std::uint32_t> expected{
      0x68fd1e64, 0x80e26c9b, 0xfb936136, 0,    1,    0xffffffff, 7,    8,    9,    0x0a, 0xb,  0xc,  0xd,
      0xe,        0xf,        0x10,       0x11, 0x12, 0x13,       0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a};
  for (std::size_t c = 0; c < expected.size(); ++c)
    EXPECT_EQ(block.categories[c], std::vector{expected[c]}) << "C" << c + 1;
  EXPECT_EQ(block.missing, std::vector<std::uint64_t>{0});
}

TEST_F(CriteoTsv, MarksEmptyFieldsAsMissing) {
  const CriteoBlock block = read(criteo_line("0") + criteo_line("1", {{0, "0"}, {12, "-3"}, {C1, "0"}, {C26, "ff"}}));
  ASSERT_EQ(block.rows, 2);
  EXPECT_EQ(block.labels, (std::vector<std::uint8_t>{0, 1}));
  EXPECT_EQ(block.missing[0], (std::uint64_t{1} << 39) - 1);
  EXPECT_EQ(block.missing[1], ((std::uint64_t{1} << 39) - 1) & ~(1ULL << 0 | 1ULL << 12 | 1ULL << C1 | 1ULL << C26));
  EXPECT_EQ(block.dense[13 + 12], -3.0F);
  EXPECT_EQ(block.categories[25], (std::vector<std::uint32_t>{0, 255}));
  EXPECT_EQ(block.categories[0], (std::vector<std::uint32_t>{0, 0}));
}

TEST_F(CriteoTsv, TestFileHasNoLabel) {
  const std::string line = full_line.substr(2);
  CriteoReader reader(write("test.tsv", line + line));
  CriteoBlock block;
  ASSERT_TRUE(reader.next(block));
  EXPECT_FALSE(reader.labelled());
  EXPECT_EQ(block.rows, 2);
  EXPECT_EQ(block.labels, (std::vector<std::uint8_t>{0, 0}));
  EXPECT_EQ(block.dense[1], -1.0F);
  EXPECT_EQ(block.categories[0][1], 0x68fd1e64U);
  EXPECT_FALSE(reader.next(block));
}

TEST_F(CriteoTsv, FirstLineDecidesAboutSeparatorsAndNames) {
  const std::string names = "label\tI1\tI2\tI3\tI4\tI5\tI6\tI7\tI8\tI9\tI10\tI11\tI12\tI13" + [] {
    std::string categories;
    for (int c = 1; c <= criteo_categories; ++c) categories += "\tC" + std::to_string(c);
    return categories + "\n";
  }();
  const CriteoBlock expected = read(full_line + full_line);
  for (const bool commas : {false, true})
    for (const bool header : {false, true})
      for (const bool labelled : {false, true}) {
        const auto line = [&](const std::string& text) { return labelled ? text : text.substr(text.find('\t') + 1); };
        std::string text = (header ? line(names) : "") + line(full_line) + line(full_line);
        if (commas) std::ranges::replace(text, '\t', ',');
        CriteoReader reader(write("train.csv", text));
        CriteoBlock block;
        ASSERT_TRUE(reader.next(block)) << text;
        EXPECT_EQ(reader.has_header(), header);
        EXPECT_EQ(reader.labelled(), labelled);
        EXPECT_EQ(block.rows, 2);
        EXPECT_EQ(block.dense, expected.dense);
        EXPECT_EQ(block.categories, expected.categories);
        EXPECT_EQ(block.labels, std::vector<std::uint8_t>(2, labelled ? 1 : 0));
      }
  EXPECT_CONTAINS(error(full_line + names), "train.tsv:2: label 'label' is not 0 or 1");
  std::string commas = full_line;
  std::ranges::replace(commas, '\t', ',');
  EXPECT_CONTAINS(error(commas + full_line), "train.tsv:2: expected 40 fields separated by commas, found 1");
  EXPECT_CONTAINS(error(full_line + commas), "train.tsv:2: expected 40 fields separated by tabs, found 1");
  EXPECT_CONTAINS(error(criteo_line("x")), "train.tsv:1: label 'x' is not 0 or 1");
}

TEST_F(CriteoTsv, FirstLineDecidesAboutLabels) {
  EXPECT_CONTAINS(error(full_line + full_line.substr(2)),
                  "train.tsv:2: expected 40 fields separated by tabs, found 39");
  EXPECT_CONTAINS(error(full_line.substr(2) + full_line),
                  "train.tsv:2: expected 39 fields separated by tabs, found 40");
}

TEST_F(CriteoTsv, ToleratesCrlfAndAMissingLastNewline) {
  const std::string bare = full_line.substr(0, full_line.size() - 1);
  for (const std::string& text : {bare, bare + "\r\n", bare + "\r\n" + bare + "\r", bare + "\n" + bare}) {
    const CriteoBlock block = read(text);
    EXPECT_EQ(block.rows, text.size() > bare.size() + 2 ? 2 : 1);
    EXPECT_EQ(block.categories[25].back(), 0x1aU);
  }
}

TEST_F(CriteoTsv, EmptyFileHasNoRows) {
  CriteoReader reader(write("empty.tsv", ""));
  CriteoBlock block;
  EXPECT_FALSE(reader.next(block));
  EXPECT_EQ(block.rows, 0);
  EXPECT_EQ(reader.lines(), 0);
}

TEST_F(CriteoTsv, NamesFileLineAndFieldOfMalformedLines) {
  const std::string good = full_line;
  const auto second = [&](const std::string& line) { return error(good + line + good); };
  EXPECT_CONTAINS(second("\n"), "train.tsv:2: the line is empty");
  EXPECT_CONTAINS(second("1\t2\n"), "train.tsv:2: expected 40 fields separated by tabs, found 2");
  EXPECT_CONTAINS(second(good.substr(0, good.size() - 1) + "\t\n"),
                  "train.tsv:2: expected 40 fields separated by tabs, found 41");
  EXPECT_CONTAINS(second(criteo_line("2")), "train.tsv:2: label '2' is not 0 or 1");
  EXPECT_CONTAINS(second(criteo_line("")), "train.tsv:2: label '' is not 0 or 1");
  EXPECT_CONTAINS(second(criteo_line("10")), "train.tsv:2: label '10' is not 0 or 1");
  EXPECT_CONTAINS(second(criteo_line("0", {{1, "1.5"}})), "train.tsv:2: I2 '1.5' is not an integer");
  EXPECT_CONTAINS(second(criteo_line("0", {{1, "-"}})), "train.tsv:2: I2 '-' is not an integer");
  EXPECT_CONTAINS(second(criteo_line("0", {{1, "+1"}})), "train.tsv:2: I2 '+1' is not an integer");
  EXPECT_CONTAINS(second(criteo_line("0", {{12, "1234567890123456789"}})),
                  "I13 '1234567890123456789' has more than 18 digits");
  EXPECT_CONTAINS(second(criteo_line("0", {{12, "-9999999999999999999"}})), "has more than 18 digits");
  EXPECT_CONTAINS(second(criteo_line("0", {{C1, "68fd1e6g"}})), "train.tsv:2: C1 '68fd1e6g' is not hexadecimal");
  EXPECT_CONTAINS(second(criteo_line("0", {{C1, "-1"}})), "train.tsv:2: C1 '-1' is not hexadecimal");
  EXPECT_CONTAINS(second(criteo_line("0", {{C26, "123456789"}})), "train.tsv:2: C26 '123456789' is over 32 bits");
  EXPECT_CONTAINS(second(criteo_line("0", {{C26, std::string(100, 'a')}})),
                  std::string(40, 'a') + "...' is over 32 bits");
  EXPECT_CONTAINS(second(criteo_line("0", {{C26, "1 "}})), "train.tsv:2: C26 '1 ' is not hexadecimal");
  EXPECT_CONTAINS(second(criteo_line("0", {{C1, std::string("a\0b", 3)}})), "C1 'a?b' is not hexadecimal");
  EXPECT_CONTAINS(second(criteo_line("0", {{0, "1\r"}})), "I1 '1?' is not an integer");
}

TEST_F(CriteoTsv, ErrorsAreOneLine) {
  EXPECT_EQ(error("a\rb\x01\n").find('\n'), std::string::npos);
  EXPECT_CONTAINS(error("x"), "train.tsv:1: expected 40 fields separated by tabs, found 1 (--malformed skip");
}

TEST_F(CriteoTsv, SkipsAndCountsMalformedLines) {
  std::string text = "garbage\n";
  for (int i = 0; i < 12; ++i) text += full_line + criteo_line("9");
  CriteoReader reader(write("train.tsv", text + "last"), {.malformed = Malformed::skip});
  CriteoBlock block;
  ASSERT_TRUE(reader.next(block));
  EXPECT_EQ(block.rows, 12);
  EXPECT_EQ(block.labels, std::vector<std::uint8_t>(12, 1));
  EXPECT_FALSE(reader.next(block));
  EXPECT_EQ(reader.malformed(), 14);
  EXPECT_EQ(reader.lines(), 26);
  ASSERT_EQ(reader.messages().size(), 10U);
  EXPECT_CONTAINS(reader.messages()[0], "train.tsv:1: expected 40 fields");
  EXPECT_CONTAINS(reader.messages()[1], "train.tsv:3: label '9'");
  EXPECT_CONTAINS(reader.malformed_summary(), "skipped 14 malformed of 26 lines");
  EXPECT_CONTAINS(reader.malformed_summary(), "...");
}

TEST_F(CriteoTsv, RefusesOrSkipsLinesLongerThanTheBuffer) {
  const CriteoReaderOptions stop{.buffer_bytes = 1024};
  const std::string line(5000, 'x');
  EXPECT_CONTAINS(error(full_line + line + "\n" + full_line, stop), "train.tsv:2: the line is longer than 1024 bytes");

  CriteoReader reader(write("train.tsv", full_line + line + "\n" + full_line + line),
                      {.malformed = Malformed::skip, .buffer_bytes = 1024});
  CriteoBlock block;
  ASSERT_TRUE(reader.next(block));
  EXPECT_EQ(block.rows, 2);
  EXPECT_EQ(reader.malformed(), 2);
  EXPECT_EQ(reader.lines(), 4);
}

TEST_F(CriteoTsv, SaysWhichFileCannotBeOpened) {
  EXPECT_CONTAINS(error_of([&] { CriteoReader reader(path("none.tsv")); }), "none.tsv: cannot open: No such file");
  EXPECT_CONTAINS(error_of([&] { CriteoReader reader(path("")); }), "is a directory");
}

// Any split into buffers and blocks gives the rows that were written.
TEST_F(CriteoTsv, RandomRowsSurviveAnyBufferAndBlock) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto rows = static_cast<std::int64_t>(random() % 200);
    std::string text;
    CriteoBlock expected;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::vector<std::pair<int, std::string>> fields;
      std::uint64_t missing = (std::uint64_t{1} << 39) - 1;
      expected.labels.push_back(random() % 2);
      for (int f = 0; f < criteo_fields; ++f) {
        const bool present = random() % 4 != 0;
        const auto integer = static_cast<std::int64_t>(random() % 2000000) - 1000000;
        const auto value = static_cast<std::uint32_t>(random()) >> (random() % 32);
        char hex[16];
        std::snprintf(hex, sizeof hex, random() % 2 != 0 ? "%x" : "%08X", value);
        if (present) missing &= ~(std::uint64_t{1} << f);
        if (present) fields.emplace_back(f, f < criteo_dense ? std::to_string(integer) : hex);
        if (f < criteo_dense) expected.dense.push_back(present ? static_cast<float>(integer) : 0.0F);
        if (f >= criteo_dense) expected.categories[f - criteo_dense].push_back(present ? value : 0);
      }
      expected.missing.push_back(missing);
      text += criteo_line(expected.labels.back() != 0 ? "1" : "0", fields);
    }
    CriteoReader reader(write("train.tsv", text), {.block_rows = 1 + static_cast<std::int64_t>(random() % 50),
                                                   .buffer_bytes = 512 + static_cast<std::int64_t>(random() % 2000)});
    CriteoBlock all;
    CriteoBlock block;
    while (reader.next(block)) {
      all.rows += block.rows;
      all.labels.insert(all.labels.end(), block.labels.begin(), block.labels.end());
      all.dense.insert(all.dense.end(), block.dense.begin(), block.dense.end());
      all.missing.insert(all.missing.end(), block.missing.begin(), block.missing.end());
      for (std::size_t c = 0; c < criteo_categories; ++c)
        all.categories[c].insert(all.categories[c].end(), block.categories[c].begin(), block.categories[c].end());
    }
    EXPECT_EQ(all.rows, rows);
    EXPECT_EQ(all.labels, expected.labels);
    EXPECT_EQ(all.dense, expected.dense);
    EXPECT_EQ(all.categories, expected.categories);
    EXPECT_EQ(all.missing, expected.missing);
    EXPECT_EQ(reader.bytes(), static_cast<std::int64_t>(text.size()));
  }
}

// Random damage: an error that names the file, or rows; never a crash.
TEST_F(CriteoTsv, RandomDamageIsNamedOrSkipped) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::string text = full_line + full_line + full_line;
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(random());
    CriteoReader reader(write("train.tsv", text),
                        {.malformed = Malformed::skip, .block_rows = 8, .buffer_bytes = 2048});
    CriteoBlock block;
    const std::int64_t rows = reader.next(block) ? block.rows : 0;
    EXPECT_EQ(rows + reader.malformed(), reader.lines());
    if (reader.malformed() > 0) {
      EXPECT_CONTAINS(error(text, {.block_rows = 8, .buffer_bytes = 2048}), "train.tsv:");
    }
  }
}

}  // namespace
}  // namespace shardmark::datasets
