// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "datasets/byte_stream.hpp"
#include "datasets/criteo_tsv.hpp"
#include "datasets/test/fixture.hpp"

namespace shardmark::datasets {
namespace {

class ByteStream : public DatasetTest, public testing::WithParamInterface<const char*> {
 protected:
  std::string file() const { return path(std::string("bytes.tsv") + GetParam()); }
  void put(std::string_view bytes) const {
    const auto writer = create_bytes(file());
    writer->write(bytes.substr(0, bytes.size() / 3));
    writer->write(bytes.substr(bytes.size() / 3));
    writer->finish();
  }
  std::string get(std::size_t piece) const {
    const auto reader = open_bytes(file());
    std::string all;
    std::vector<char> buffer(piece);
    for (std::size_t count = piece; count == piece;) {
      count = reader->read(buffer);
      all.append(buffer.data(), count);
    }
    return all;
  }
};

std::string random_text(std::uint64_t seed, std::size_t size) {
  std::mt19937_64 random(seed);
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>('a' + random() % 16);
  return text;
}

TEST_P(ByteStream, RoundTrip) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{700000}}) {
    SCOPED_TRACE("seed and size " + std::to_string(size));
    const std::string text = random_text(size, size);
    put(text);
    EXPECT_EQ(get(1 << 20), text);
    EXPECT_EQ(get(777), text);
  }
}

TEST_P(ByteStream, ReadsConcatenatedParts) {
  put("first");
  const std::string once = slurp(file());
  write(std::string("bytes.tsv") + GetParam(), once + once);
  EXPECT_EQ(get(100), "firstfirst");
}

TEST_P(ByteStream, LeavesNothingBehindWithoutFinish) {
  create_bytes(file())->write("half");
  EXPECT_TRUE(files().empty());
}

TEST_P(ByteStream, NamesWhatCannotBeCreated) {
  EXPECT_CONTAINS(error_of([&] { create_bytes(path("no/such/folder") + GetParam()); }), "no/such/folder");
}

INSTANTIATE_TEST_SUITE_P(Extensions, ByteStream, testing::Values("", ".gz", ".zst"));

class Compressed : public ByteStream {};

TEST_P(Compressed, TruncationIsNamed) {
  const std::string text = random_text(5, 300000);
  put(text);
  const std::string whole = slurp(file());
  for (const std::size_t kept : {whole.size() - 1, whole.size() / 2, std::size_t{20}}) {
    write(std::string("bytes.tsv") + GetParam(), std::string_view(whole).substr(0, kept));
    EXPECT_CONTAINS(error_of([&] { get(1 << 16); }), "truncated") << kept << " of " << whole.size() << " bytes";
    EXPECT_CONTAINS(error_of([&] { get(1 << 16); }), std::string("bytes.tsv") + GetParam());
  }
}

TEST_P(Compressed, DamageIsNamed) {
  put(random_text(6, 300000));
  std::string bytes = slurp(file());
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x55);
  write(std::string("bytes.tsv") + GetParam(), bytes);
  EXPECT_CONTAINS(error_of([&] { get(1 << 16); }), "data are corrupt");
}

TEST_P(Compressed, PlainTextUnderTheirNameIsNamed) {
  write(std::string("bytes.tsv") + GetParam(), "0\t1\t2\n");
  EXPECT_CONTAINS(error_of([&] { get(1 << 16); }), std::string("bytes.tsv") + GetParam() + ": ");
}

TEST_P(Compressed, HoldsCriteoLines) {
  put(criteo_line("1") + criteo_line("0"));
  CriteoReader reader(file());
  CriteoBlock block;
  ASSERT_TRUE(reader.next(block));
  EXPECT_EQ(block.labels, (std::vector<std::uint8_t>{1, 0}));
}

INSTANTIATE_TEST_SUITE_P(Extensions, Compressed, testing::Values(".gz", ".zst"));

}  // namespace
}  // namespace shardmark::datasets
