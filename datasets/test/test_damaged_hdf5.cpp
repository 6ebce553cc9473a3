// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "datasets/criteo_hdf5.hpp"
#include "datasets/test/fixture.hpp"

namespace shardmark::datasets {
namespace {

using Values = std::vector<std::uint32_t>;
using Offsets = std::vector<std::uint64_t>;

/// What a file of two keys says; each test changes one thing. Key "one" is one-hot, key "many" varies.
struct Content {
  std::int64_t format_version = 1;
  std::int64_t samples = 4;
  std::string tables = R"([{"key":"one","rows":10,"hotness":1},{"key":"many","rows":5,"hotness":0}])";
  Values one{0x11223344 % 10, 9, 0, 5};
  Values many{4, 3, 2, 1, 0};
  Offsets offsets{0, 2, 2, 4, 5};
  std::vector<std::uint8_t> labels{0, 1, 1, 0};
  std::vector<float> dense{1, 2, 3, 4, 5, 6, 7, 8};
  std::string skip{};       ///< a data set that is left out
  bool retyped = false;     ///< /sparse/one/values as float
  std::string wrong_sum{};  ///< a data set whose checksum attribute is wrong
};

class DamagedHdf5 : public DatasetTest {
 protected:
  template <class T>
  void column(hdf5::File& file, const Content& content, const std::string& name, const std::vector<T>& values) {
    if (content.skip == name) return;
    Checksum checksum;
    checksum.add(values.data(), values.size() * sizeof(T));
    hdf5::Dataset<T>::create(file, name, 16).append(values);
    file.write_attribute(name, "xxh64", content.wrong_sum == name ? std::string(16, '0') : checksum.text());
  }

  std::string make(const Content& content) {
    auto file = hdf5::File::create(path("a.h5"));
    for (const char* group : {"/meta", "/sparse", "/sparse/one", "/sparse/many"}) file.create_group(group);
    file.write_attribute("/meta", "format_version", content.format_version);
    file.write_attribute("/meta", "samples", content.samples);
    file.write_attribute("/meta", "dense", std::int64_t{2});
    file.write_attribute("/meta", "source", std::string("test"));
    file.write_attribute("/meta", "labels", std::string("read"));
    file.write_attribute("/meta", "missing", std::string("[]"));
    file.write_attribute("/meta", "id_rule", std::string(R"({"name":"none"})"));
    file.write_attribute("/meta", "tables", content.tables);
    column(file, content, "/dense", content.dense);
    column(file, content, "/label", content.labels);
    if (content.retyped) {
      column(file, content, "/sparse/one/values", std::vector<float>(4));
    } else {
      column(file, content, "/sparse/one/values", content.one);
    }
    column(file, content, "/sparse/many/values", content.many);
    column(file, content, "/sparse/many/offsets", content.offsets);
    file.close();
    return path("a.h5");
  }

  std::string open_error(const Content& content) {
    return error_of([&] { SampleFileReader reader(make(content)); });
  }
  std::string read_error(const Content& content) {
    SampleFileReader reader(make(content));
    Samples samples;
    return error_of([&] { reader.read(0, 4, samples); });
  }
  std::string verify_error(const Content& content) {
    SampleFileReader reader(make(content));
    return error_of([&] { reader.verify(); });
  }
};

TEST_F(DamagedHdf5, SoundFileIsRead) {
  SampleFileReader reader(make({}));
  reader.verify();
  Samples samples;
  reader.read(1, 2, samples);
  EXPECT_EQ(samples.batch.indices, (std::vector<std::int64_t>{9, 0, 2, 1}));
  EXPECT_EQ(samples.batch.offsets, (std::vector<std::int64_t>{0, 1, 2, 2, 4}));
  EXPECT_EQ(samples.dense, (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(samples.labels, (std::vector<float>{1, 1}));
}

TEST_F(DamagedHdf5, NotHdf5) {
  EXPECT_CONTAINS(error_of([&] { SampleFileReader reader(path("none.h5")); }), "none.h5: no such file");
  write("text.h5", "0\t1\n");
  EXPECT_CONTAINS(error_of([&] { SampleFileReader reader(path("text.h5")); }), "text.h5: cannot open as HDF5");
  hdf5::File::create(path("other.h5")).close();
  EXPECT_CONTAINS(error_of([&] { SampleFileReader reader(path("other.h5")); }), "other.h5: /meta: is missing");
}

TEST_F(DamagedHdf5, Truncated) {
  const std::string whole = slurp(make({}));
  for (const std::size_t kept : {whole.size() - 1, whole.size() / 2, std::size_t{100}, std::size_t{0}}) {
    write("cut.h5", std::string_view(whole).substr(0, kept));
    EXPECT_CONTAINS(error_of([&] { SampleFileReader reader(path("cut.h5")); }),
                    "cut.h5: cannot open as HDF5, truncated");
  }
}

TEST_F(DamagedHdf5, StructureIsChecked) {
  EXPECT_CONTAINS(open_error({.format_version = 2}), "a.h5: /meta: format_version 2 is not known");
  EXPECT_CONTAINS(open_error({.skip = "/dense"}), "a.h5: /dense: the data set is missing");
  EXPECT_CONTAINS(open_error({.skip = "/label"}), "a.h5: /label: the data set is missing");
  EXPECT_CONTAINS(open_error({.skip = "/sparse/one/values"}), "a.h5: /sparse/one/values: the data set is missing");
  EXPECT_CONTAINS(open_error({.skip = "/sparse/many/offsets"}), "/sparse/many/offsets: the data set is missing");
  EXPECT_CONTAINS(open_error({.retyped = true}), "/sparse/one/values: the data set has another element type");
  EXPECT_CONTAINS(open_error({.samples = 5}), "/dense: holds 8 elements, 5 samples need 10");
  EXPECT_CONTAINS(open_error({.samples = -1}), "/meta: samples -1 is outside");
  EXPECT_CONTAINS(open_error({.one = {1, 2, 3}}), "/sparse/one/values: holds 3 elements, 4 samples need 4");
  EXPECT_CONTAINS(open_error({.labels = {0, 1, 1}}), "/label: holds 3 elements, 4 samples need 4");
  EXPECT_CONTAINS(open_error({.offsets = {0, 2, 2, 5}}), "/sparse/many/offsets: holds 4 elements, 4 samples need 5");
  EXPECT_CONTAINS(open_error({.offsets = {0, 2, 2, 4, 6}}), "offsets run from 0 to 6, the ids from 0 to 5");
  EXPECT_CONTAINS(open_error({.offsets = {1, 2, 2, 4, 5}}), "offsets run from 1 to 5");
  EXPECT_CONTAINS(open_error({.tables = "[{"}), "/meta: attribute 'tables': not valid JSON");
  EXPECT_CONTAINS(open_error({.tables = R"([{"key":"one"}])"}), "/meta: attribute 'tables': ");
  EXPECT_CONTAINS(open_error({.tables = R"([{"key":"gone","rows":1,"hotness":1}])"}),
                  "/sparse/gone/values: the data set is missing");
  EXPECT_CONTAINS(open_error({.tables = R"([{"key":"one","rows":1,"hotness":-1}])"}), "one hotness -1 is outside");
}

TEST_F(DamagedHdf5, IdsAndOffsetsAreCheckedWhenRead) {
  const std::string id = "a.h5: /sparse/many/values: id 5 at element 3 is outside its table of 5 rows";
  EXPECT_CONTAINS(read_error({.many = {4, 3, 2, 5, 0}}), id);
  EXPECT_CONTAINS(verify_error({.many = {4, 3, 2, 5, 0}}), id);
  EXPECT_CONTAINS(read_error({.one = {1, 10, 0, 0}}),
                  "/sparse/one/values: id 10 at element 1 is outside its table of 10 rows");
  const std::string offsets = "a.h5: /sparse/many/offsets: offsets decrease at sample 2: 3 then 2";
  EXPECT_CONTAINS(read_error({.offsets = {0, 2, 3, 2, 5}}), offsets);
  EXPECT_CONTAINS(verify_error({.offsets = {0, 2, 3, 2, 5}}), offsets);
  EXPECT_CONTAINS(read_error({.offsets = {0, 2, 2, 99, 5}}), "offsets decrease at sample 3: 99 then 5");
  EXPECT_CONTAINS(verify_error({.labels = {0, 1, 2, 0}}), "a.h5: /label: label 2 of sample 2 is not 0 or 1");
}

// verify() reads offsets in pieces of 2^17; a decrease between two pieces is a decrease too.
TEST_F(DamagedHdf5, OffsetsAreComparedAcrossPieces) {
  constexpr std::size_t piece = 1 << 17;
  Content content;
  content.samples = piece + 1;
  content.dense.assign(2 * (piece + 1), 0);
  content.labels.assign(piece + 1, 0);
  content.one.assign(piece + 1, 0);
  content.offsets.assign(piece + 2, 0);
  content.offsets[piece - 1] = 4;
  content.offsets[piece] = 3;
  content.offsets[piece + 1] = 5;
  EXPECT_CONTAINS(verify_error(content), "/sparse/many/offsets: offsets decrease at sample 131071");
}

TEST(Checksum, IsXxh64) {
  Checksum checksum;
  EXPECT_EQ(checksum.text(), "ef46db3751d8e999");  // of nothing
  checksum.add("a", 1);
  checksum.add("bc", 2);
  EXPECT_EQ(checksum.text(), "44bc2cf5ad770999");  // of "abc"
}

TEST_F(DamagedHdf5, ChecksumOfEveryDataSetIsCompared) {
  for (const char* name : {"/dense", "/label", "/sparse/one/values", "/sparse/many/values", "/sparse/many/offsets"}) {
    Content content;
    content.wrong_sum = name;
    EXPECT_CONTAINS(verify_error(content), std::string("a.h5: ") + name + ": checksum mismatch");
  }
}

TEST_F(DamagedHdf5, FlippedByteOfDataIsNamed) {
  Content content;
  content.one = {3, 1, 4, 1};
  std::string bytes = slurp(make(content));
  const std::string pattern("\3\0\0\0\1\0\0\0\4\0\0\0\1\0\0\0", 16);
  const std::size_t at = bytes.find(pattern);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 2;
  write("a.h5", bytes);
  SampleFileReader reader(path("a.h5"));
  Samples samples;
  EXPECT_CONTAINS(error_of([&] { reader.read(0, 4, samples); }),
                  "a.h5: /sparse/one/values: elements [0, 4) cannot be read, truncated or checksum mismatch");
  EXPECT_CONTAINS(error_of([&] { reader.verify(); }), "/sparse/one/values");
}

// Any flipped bit is named, or lies in space that carries no content.
TEST_F(DamagedHdf5, NoFlippedBitGivesOtherSamples) {
  const std::string whole = slurp(make({}));
  Samples sound;
  SampleFileReader(path("a.h5")).read(0, 4, sound);
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::string bytes = whole;
    const std::size_t at = random() % bytes.size();
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    write("b.h5", bytes);
    Samples samples;
    const std::string error = error_of([&] {
      SampleFileReader reader(path("b.h5"));
      reader.verify();
      reader.read(0, 4, samples);
    });
    if (error == "no error") {
      EXPECT_EQ(samples.batch.indices, sound.batch.indices);
      EXPECT_EQ(samples.batch.offsets, sound.batch.offsets);
      EXPECT_EQ(samples.dense, sound.dense);
      EXPECT_EQ(samples.labels, sound.labels);
    } else {
      EXPECT_CONTAINS(error, "b.h5: ");
      EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    }
  }
}

}  // namespace
}  // namespace shardmark::datasets
