// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "datasets/criteo_convert.hpp"
#include "datasets/criteo_generate.hpp"
#include "datasets/sample_source.hpp"
#include "datasets/test/fixture.hpp"

namespace shardmark::datasets {
namespace {

class SampleSources : public DatasetTest {
 protected:
  SampleSources() {
    const auto& kaggle = criteo_cardinalities[0].rows;
    options.rows.assign(kaggle.begin(), kaggle.end());
  }
  std::unique_ptr<SampleSource> open(const std::string& name) {
    return open_samples(path(name), options, [this](const std::string& text) { notices.push_back(text); });
  }
  SourceOptions options;
  std::vector<std::string> notices;
};

/// Lines whose first category is the number of the line (decimal digits read as hexadecimal), the first integer ten
/// times it.
std::string numbered(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i)
    text += criteo_line(i % 2 != 0 ? "1" : "0", {{0, std::to_string(10 * i)}, {criteo_dense, std::to_string(i)}});
  return text;
}

TEST_F(SampleSources, WrapsAroundAndSaysSoOnce) {
  write("a.tsv", numbered(5));
  const auto source = open("a.tsv");
  EXPECT_EQ(source->samples(), 5);
  Samples samples;
  source->read(0, 5, samples);
  EXPECT_TRUE(notices.empty());
  source->read(3, 8, samples);  // 3 4 | 0 1 2 3 4 | 0
  EXPECT_EQ(samples.batch.samples, 8);
  EXPECT_EQ(samples.batch.features, criteo_categories);
  EXPECT_EQ((std::vector(samples.batch.indices.begin(), samples.batch.indices.begin() + 8)),
            (std::vector<std::int64_t>{3, 4, 0, 1, 2, 3, 4, 0}));
  EXPECT_EQ(samples.labels, (std::vector<float>{1, 0, 0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(samples.dense[13 * 1], 40.0F);
  EXPECT_EQ(samples.dense[13 * 7], 0.0F);
  check_batch(samples.batch, options.rows);
  source->read(1000000000002, 2, samples);
  EXPECT_EQ(samples.batch.indices[0], 2);
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_CONTAINS(notices[0], "a.tsv: has 5 samples read; they are used again from the start");
}

TEST_F(SampleSources, BothFormsGiveTheSameSamples) {
  generate_criteo(path("a.tsv.gz"), {.samples = 1000}, quiet);
  convert_criteo(path("a.tsv.gz"), path("a.h5"), IdMapping::modulo(options.rows), {}, quiet);
  const auto text = open("a.tsv.gz");
  const auto file = open("a.h5");
  ASSERT_EQ(text->samples(), 1000);
  ASSERT_EQ(file->samples(), 1000);
  Samples a;
  Samples b;
  for (const auto& [first, count] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 1000}, {0, 1}, {999, 1}, {123, 456}, {700, 1500}, {5, 0}}) {
    SCOPED_TRACE(std::to_string(first) + " + " + std::to_string(count));
    text->read(first, count, a);
    file->read(first, count, b);
    check_batch(a.batch, options.rows);
    EXPECT_EQ(a.batch.samples, count);
    EXPECT_EQ(a.batch.offsets, b.batch.offsets);
    EXPECT_EQ(a.batch.indices, b.batch.indices);
    EXPECT_EQ(a.dense, b.dense);
    EXPECT_EQ(a.labels, b.labels);
  }
}

TEST_F(SampleSources, LimitKeepsTheFirstSamples) {
  write("a.tsv", numbered(50) + "garbage");
  options.limit = 20;
  options.reader.block_rows = 8;
  const auto source = open("a.tsv");
  EXPECT_EQ(source->samples(), 20);
  Samples samples;
  source->read(0, 20, samples);
  EXPECT_EQ(samples.batch.indices[19], 0x19);
}

TEST_F(SampleSources, FrequencyRuleCountsTheWholeFile) {
  write("a.tsv", numbered(3) + numbered(2) + numbered(1));
  options.rule = IdRule::frequency;
  options.min_count = 2;
  options.limit = 3;
  Samples samples;
  open("a.tsv")->read(0, 3, samples);
  EXPECT_EQ((std::vector(samples.batch.indices.begin(), samples.batch.indices.begin() + 3)),
            (std::vector<std::int64_t>{2, 3, 1}));
  options.rows[0] = 3;
  open("a.tsv");
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_CONTAINS(notices[0], "column C1: 1 values (2 occurrences) do not fit the table's 3 rows");
}

TEST_F(SampleSources, SaysWhatIsMissingOrSkipped) {
  write("test.tsv", criteo_line("1").substr(2) + "x\n");
  options.reader.malformed = Malformed::skip;
  open("test.tsv");
  ASSERT_EQ(notices.size(), 2U);
  EXPECT_CONTAINS(notices[0], "test.tsv: skipped 1 malformed of 2 lines");
  EXPECT_CONTAINS(notices[1], "there are no labels");
}

TEST_F(SampleSources, RefusesWhatDoesNotFitTheWorkload) {
  write("a.tsv", numbered(3));
  convert_criteo(path("a.tsv"), path("a.h5"), IdMapping::modulo(options.rows), {}, quiet);
  options.rows[3] /= 64;
  EXPECT_CONTAINS(error_of([&] { open("a.h5"); }),
                  "a.h5: feature C4 has ids for 2202608 rows, the workload's table has 34415");
  options.rows.pop_back();
  EXPECT_CONTAINS(error_of([&] { open("a.h5"); }), "a.h5: has 26 sparse features, the workload 25");
  EXPECT_CONTAINS(error_of([&] { open("a.tsv"); }), "26 categorical columns, but the workload has 25 features");
  options.rows.push_back(10);
  write("b.tsv", "");
  write("b.h5", "text");
  EXPECT_CONTAINS(error_of([&] { open("b.tsv"); }), "b.tsv: holds no samples");
  EXPECT_CONTAINS(error_of([&] { open("b.h5"); }), "b.h5: does not begin as an HDF5 file does");
  EXPECT_CONTAINS(error_of([&] { open("none"); }), "none: cannot open");
}

}  // namespace
}  // namespace shardmark::datasets
