// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "datasets/criteo_convert.hpp"
#include "datasets/criteo_generate.hpp"
#include "datasets/criteo_hdf5.hpp"
#include "datasets/data_statistics.hpp"
#include "datasets/test/fixture.hpp"

namespace shardmark::datasets {
namespace {

class CriteoHdf5 : public DatasetTest {};

/// Samples with `features` keys: key k has hotness k % 3, so every third one varies (0 to 4 ids).
Samples random_samples(std::mt19937_64& random, std::int64_t count, const std::vector<SparseKey>& keys,
                       std::int64_t dense) {
  Samples samples;
  Batch& batch = samples.batch;
  batch.samples = count;
  batch.features = std::ssize(keys);
  batch.offsets = {0};
  for (const SparseKey& key : keys) {
    for (std::int64_t s = 0; s < count; ++s) {
      const auto ids = key.hotness != 0 ? key.hotness : static_cast<std::int64_t>(random() % 5);
      for (std::int64_t i = 0; i < ids; ++i)
        batch.indices.push_back(static_cast<std::int64_t>(random()) & (key.rows - 1));
      batch.offsets.push_back(batch.nnz());
    }
  }
  for (std::int64_t i = 0; i < count * dense; ++i) samples.dense.push_back(static_cast<float>(random() % 1000) - 500);
  for (std::int64_t i = 0; i < count; ++i) samples.labels.push_back(static_cast<float>(random() % 2));
  return samples;
}

void expect_equal(const Samples& a, const Samples& b) {
  EXPECT_EQ(a.batch.samples, b.batch.samples);
  EXPECT_EQ(a.batch.features, b.batch.features);
  EXPECT_EQ(a.batch.offsets, b.batch.offsets);
  EXPECT_EQ(a.batch.indices, b.batch.indices);
  EXPECT_EQ(a.dense, b.dense);
  EXPECT_EQ(a.labels, b.labels);
}

Samples part_of(const Samples& all, std::int64_t dense, std::int64_t first, std::int64_t count) {
  Samples part;
  part.batch = slice_samples(all.batch, first, count);
  part.dense.assign(all.dense.begin() + first * dense, all.dense.begin() + (first + count) * dense);
  part.labels.assign(all.labels.begin() + first, all.labels.begin() + first + count);
  return part;
}

TEST_F(CriteoHdf5, RandomSamplesSurviveInAnyPieces) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<SparseKey> keys;
    for (int k = 0; k < 4; ++k) keys.push_back({"key" + std::to_string(k), std::int64_t{1} << (8 * k), k % 3});
    const auto dense = static_cast<std::int64_t>(random() % 3);
    // Beyond 2^17 offsets or 2^18 ids a data set has several chunks.
    const auto count = static_cast<std::int64_t>(seed == 1 ? 140000 : random() % 500);
    const Samples all = random_samples(random, count, keys, dense);

    SampleFileWriter writer(path("a.h5"), keys, dense, nullptr);
    for (std::int64_t first = 0; first < count;) {
      const auto piece =
          std::min<std::int64_t>(count - first, 1 + static_cast<std::int64_t>(random() % (seed == 1 ? 90000 : 90)));
      writer.append(part_of(all, dense, first, piece));
      first += piece;
    }
    writer.finish({.source = "here", .sparse = {}, .missing = {}});

    SampleFileReader reader(path("a.h5"));
    ASSERT_EQ(reader.samples(), count);
    EXPECT_EQ(reader.meta().source, "here");
    EXPECT_EQ(reader.meta().dense, dense);
    ASSERT_EQ(reader.meta().sparse.size(), keys.size());
    EXPECT_EQ(reader.meta().sparse[3].rows, 1 << 24);
    EXPECT_EQ(reader.meta().sparse[2].hotness, 2);
    reader.verify();
    Samples read;
    for (int i = 0; i < 5; ++i) {
      const auto first = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count + 1));
      const auto piece = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count - first + 1));
      reader.read(first, piece, read);
      expect_equal(read, part_of(all, dense, first, piece));
    }
    reader.read(0, count, read);
    expect_equal(read, all);
  }
}

TEST_F(CriteoHdf5, ConvertedFileHoldsTheIdsOfTheRule) {
  std::string text;
  for (const char* value : {"a", "b", "", "a", "c"}) text += criteo_line("1", {{0, "5"}, {criteo_dense, value}});
  const std::string tsv = write("train.tsv", text);
  const std::vector<std::int64_t> rows(criteo_categories, 7);

  const ConvertReport report = convert_criteo(tsv, path("modulo.h5"), IdMapping::modulo(rows), {}, quiet);
  EXPECT_EQ(report.samples, 5);
  EXPECT_EQ(report.text_bytes, std::ssize(text));
  EXPECT_TRUE(report.labelled);
  SampleFileReader modulo(path("modulo.h5"));
  Samples samples;
  modulo.read(0, 5, samples);
  EXPECT_EQ((std::vector(samples.batch.indices.begin(), samples.batch.indices.begin() + 5)),
            (std::vector<std::int64_t>{3, 4, 0, 3, 5}));  // 10, 11, missing, 10, 12 mod 7
  EXPECT_EQ(samples.dense[13], 5.0F);
  EXPECT_EQ(samples.labels, std::vector<float>(5, 1.0F));
  EXPECT_EQ(modulo.meta().missing[0], 0);
  EXPECT_EQ(modulo.meta().missing[criteo_dense], 1);
  EXPECT_EQ(modulo.meta().missing[criteo_dense + 1], 5);
  EXPECT_EQ(modulo.id_rule(), R"({"name":"modulo"})");

  const IdMapping mapping = count_frequencies(tsv, {}, rows, 2, quiet);
  convert_criteo(tsv, path("frequency.h5"), mapping, {}, quiet);
  SampleFileReader frequency(path("frequency.h5"));
  frequency.read(0, 5, samples);
  EXPECT_EQ((std::vector(samples.batch.indices.begin(), samples.batch.indices.begin() + 5)),
            (std::vector<std::int64_t>{2, 1, 0, 2, 1}));
  EXPECT_EQ(frequency.id_rule(), R"({"name":"frequency","min_count":2})");
  const IdMapping again = frequency.mapping();
  EXPECT_EQ(again.rule(), IdRule::frequency);
  EXPECT_EQ(again.min_count(), 2);
  EXPECT_EQ(again.rows(), rows);
  EXPECT_EQ(again.dictionaries()[0].values, std::vector<std::uint32_t>{10});
  EXPECT_EQ(again.dictionaries()[25].values, std::vector<std::uint32_t>{});
}

TEST_F(CriteoHdf5, ConversionSaysWhatItLeftOut) {
  const std::string unlabelled = criteo_line("0").substr(2);
  write("test.tsv", unlabelled + "x\n" + unlabelled);
  const IdMapping mapping = IdMapping::modulo(std::vector<std::int64_t>(criteo_categories, 7));
  EXPECT_CONTAINS(error_of([&] { convert_criteo(path("test.tsv"), path("a.h5"), mapping, {}, quiet); }),
                  "test.tsv:2: ");
  EXPECT_EQ(files(), std::vector<std::string>{"test.tsv"});

  const auto report = convert_criteo(path("test.tsv"), path("a.h5"), mapping, {.malformed = Malformed::skip}, quiet);
  EXPECT_EQ(report.samples, 2);
  EXPECT_EQ(report.malformed, 1);
  EXPECT_FALSE(report.labelled);
  EXPECT_FALSE(SampleFileReader(path("a.h5")).meta().labelled);

  write("empty.tsv", "");
  EXPECT_CONTAINS(error_of([&] { convert_criteo(path("empty.tsv"), path("b.h5"), mapping, {}, quiet); }),
                  "empty.tsv: holds no samples");
}

TEST_F(CriteoHdf5, StatisticsOfBothFormsAgree) {
  generate_criteo(path("a.tsv"), {.samples = 2000}, quiet);
  const auto& kaggle = criteo_cardinalities[0].rows;
  const IdMapping mapping = count_frequencies(path("a.tsv"), {}, {kaggle.begin(), kaggle.end()}, 1, quiet);
  convert_criteo(path("a.tsv"), path("a.h5"), mapping, {}, quiet);
  CriteoReader text(path("a.tsv"));
  SampleFileReader file(path("a.h5"));
  const DataStatistics expected = inspect(text, quiet);
  const DataStatistics found = inspect(file, quiet);
  EXPECT_EQ(found.samples, 2000);
  EXPECT_EQ(found.positives, expected.positives);
  ASSERT_EQ(found.columns.size(), expected.columns.size());
  for (std::size_t c = 0; c < found.columns.size(); ++c) {
    SCOPED_TRACE(found.columns[c].name);
    EXPECT_EQ(found.columns[c].name, expected.columns[c].name);
    EXPECT_EQ(found.columns[c].missing, expected.columns[c].missing);
    EXPECT_EQ(found.columns[c].values, 2000);  // a missing one is stored as 0
    if (c < criteo_dense) {
      EXPECT_EQ(found.columns[c].maximum, expected.columns[c].maximum);
    } else {
      const auto kept = std::ssize(mapping.dictionaries()[c - criteo_dense].values);
      const auto dropped = mapping.dictionaries()[c - criteo_dense].dropped_values;
      EXPECT_EQ(kept + dropped, expected.columns[c].unique);
      EXPECT_EQ(found.columns[c].unique, kept + (dropped > 0 ? 1 : 0) + (expected.columns[c].missing > 0 ? 1 : 0));
      EXPECT_EQ(found.columns[c].maximum, static_cast<double>(kept + 1));
    }
  }
}

TEST_F(CriteoHdf5, WriterRefusesWhatDoesNotFit) {
  std::mt19937_64 random(1);
  const std::vector<SparseKey> keys{{"a", 4, 1}};
  SampleFileWriter writer(path("a.h5"), keys, 0, nullptr);
  Samples samples = random_samples(random, 3, keys, 0);
  samples.batch.indices[1] = 4;
  EXPECT_CONTAINS(error_of([&] { writer.append(samples); }), "/sparse/a: id 4 is outside [0, 4)");
  samples.batch.indices[1] = 3;
  samples.batch.offsets = {0, 1, 3, 3};
  EXPECT_CONTAINS(error_of([&] { writer.append(samples); }), "sample 1 has 2 ids, its hotness is 1");
  samples.labels.pop_back();
  EXPECT_CONTAINS(error_of([&] { writer.append(samples); }), "another shape");
}

TEST_F(CriteoHdf5, NothingUnderTheNameUntilFinished) {
  {
    SampleFileWriter writer(path("a.h5"), {{"a", 4, 1}}, 0, nullptr);
    EXPECT_EQ(files(), std::vector<std::string>{"a.h5." + std::to_string(getpid()) + ".tmp"});
  }
  EXPECT_TRUE(files().empty());
  EXPECT_CONTAINS(error_of([&] { SampleFileWriter(path("no/a.h5"), {}, 0, nullptr); }), "no/a.h5: cannot create");
}

TEST_F(CriteoHdf5, WholeArraysKeepTheirShape) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  auto file = hdf5::File::create(path("a.h5"));
  file.write_array<float>("/flat", values, {6});
  file.write_array<float>("/table", values, {3, 2});
  file.write_array<std::int64_t>("/none", {}, {0});
  EXPECT_CONTAINS(error_of([&] {
                    file.write_array<float>("/wrong", values, {3, 3});
                  }),
                  "a.h5: /wrong: its shape has 9 elements, 6 were given");
  file.close();
  file = hdf5::File::open(path("a.h5"));
  std::vector<float> read(6);
  hdf5::Dataset<float>::open(file, "/flat").read(0, std::span(read));
  EXPECT_EQ(read, values);
  EXPECT_CONTAINS(error_of([&] { hdf5::Dataset<float>::open(file, "/table"); }), "is not one-dimensional");
}

TEST_F(CriteoHdf5, ReadRefusesRangesBeyondTheEnd) {
  std::mt19937_64 random(1);
  const std::vector<SparseKey> keys{{"a", 4, 1}};
  SampleFileWriter writer(path("a.h5"), keys, 0, nullptr);
  writer.append(random_samples(random, 3, keys, 0));
  writer.finish({});
  SampleFileReader reader(path("a.h5"));
  Samples samples;
  EXPECT_CONTAINS(error_of([&] { reader.read(1, 3, samples); }), "samples [1, 4) of 3");
  EXPECT_CONTAINS(error_of([&] { reader.mapping(); }), "id rule 'none'");
}

}  // namespace
}  // namespace shardmark::datasets
