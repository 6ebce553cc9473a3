// SPDX-License-Identifier: Apache-2.0
// Traffic matrices that no plan makes: read from files, or of a shape.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "comm/placement/traffic/skew.hpp"
#include "comm/placement/traffic/traffic_file.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

template <class Run>
std::string error_of(Run&& run) {
  try {
    run();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

ByteMatrix read(const std::string& text) {
  std::istringstream stream(text);
  return read_traffic(stream, "m.txt");
}

TEST(TrafficFile, ReadsNumbersBetweenBlanks) {
  const ByteMatrix matrix = read("\n100 200\t150\r\n  50 1e3 75.9\n\n300 150 200");
  ASSERT_EQ(matrix.ranks(), 3);
  EXPECT_EQ(matrix(0, 0), 100);
  EXPECT_EQ(matrix(0, 2), 150);
  EXPECT_EQ(matrix(1, 1), 1000);
  EXPECT_EQ(matrix(1, 2), 75);
  EXPECT_EQ(matrix(2, 2), 200);
}

TEST(TrafficFile, ErrorsNameFileAndLine) {
  EXPECT_NE(error_of([] { read("1 2\n3\n"); }).find("m.txt:2: 1 numbers in a matrix of 2 lines"), std::string::npos);
  EXPECT_NE(error_of([] { read("1 2 3\n4 5 6\n"); }).find("m.txt:1: 3 numbers"), std::string::npos);
  EXPECT_NE(error_of([] { read("1 2\n\n3 -4\n"); }).find("m.txt:3: '-4'"), std::string::npos);
  EXPECT_NE(error_of([] { read("1 nan\n3 4\n"); }).find("m.txt:1: 'nan'"), std::string::npos);
  EXPECT_NE(error_of([] { read("1 1e300\n3 4\n"); }).find("m.txt:1: '1e300'"), std::string::npos);
  EXPECT_NE(error_of([] { read("1 2x\n3 4\n"); }).find("m.txt:1: '2x'"), std::string::npos);
  EXPECT_NE(error_of([] { read(" \n"); }).find("m.txt is empty"), std::string::npos);
  EXPECT_NE(error_of([] { read_traffic("/nowhere/m.txt"); }).find("/nowhere/m.txt"), std::string::npos);
}

TEST(TrafficFile, IsReadAsItWasWritten) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    ByteMatrix matrix(1 + static_cast<int>(random() % 9));
    for (int from = 0; from < matrix.ranks(); ++from)
      for (int to = 0; to < matrix.ranks(); ++to)
        matrix.set(from, to, static_cast<std::int64_t>(random() >> (11 + random() % 53)));
    EXPECT_EQ(read(traffic_text(matrix)), matrix) << "seed " << seed << "\n" << traffic_text(matrix);
  }
}

TEST(Skew, EveryRankSendsItsBytesTheSameForASeed) {
  for (const Choice<MakeTraffic>& skew : skews)
    for (const int ranks : {1, 2, 3, 5, 8, 64})
      for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{1} << 40}) {
        const ByteMatrix matrix = skew.value(ranks, bytes, 7);
        for (int rank = 0; rank < ranks; ++rank) {
          EXPECT_EQ(matrix.sent_by(rank), bytes) << skew.name << " " << ranks;
          for (int to = 0; to < ranks; ++to) EXPECT_GE(matrix(rank, to), 0) << skew.name << " " << ranks;
        }
        EXPECT_EQ(matrix, skew.value(ranks, bytes, 7)) << skew.name;
      }
}

TEST(Skew, HasItsShape) {
  const ByteMatrix uniform = uniform_traffic(4, 4000, 1), hot = hot_traffic(4, 4000, 1),
                   zipf = zipf_traffic(4, 25000, 1), banded = banded_traffic(4, 4000, 1);
  EXPECT_EQ(uniform.received_by(2), 4000);
  std::vector<std::int64_t> hottest, popularity;
  for (int to = 0; to < 4; ++to) {
    hottest.push_back(hot(0, to));
    popularity.push_back(zipf(3, to));
    EXPECT_EQ(banded(to, (to + 1) % 4), 2000);
    EXPECT_EQ(banded(to, to), 0);
  }
  std::ranges::sort(hottest);
  std::ranges::sort(popularity);
  EXPECT_NEAR(static_cast<double>(hottest[3]), 3000, 1);
  EXPECT_NEAR(static_cast<double>(hottest[0]), 333, 1);
  for (int place = 0; place < 4; ++place)
    EXPECT_NEAR(static_cast<double>(popularity[3 - place]), 12000.0 / (place + 1), 1);
  EXPECT_NE(zipf_traffic(64, 64000, 1), zipf_traffic(64, 64000, 2));
}

}  // namespace
}  // namespace shardmark::placement
