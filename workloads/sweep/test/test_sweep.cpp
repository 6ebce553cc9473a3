// SPDX-License-Identifier: Apache-2.0
// The pure parts of `shardmark exchange`: sizes, traffic files, skews, findings.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "reference/error.hpp"
#include "workloads/sweep/report.hpp"
#include "workloads/sweep/sizes.hpp"
#include "workloads/sweep/skew.hpp"
#include "workloads/sweep/traffic_file.hpp"

namespace shardmark {
namespace {

using Sizes = std::vector<std::int64_t>;

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

TEST(Sizes, AreOneSizeOrASweep) {
  EXPECT_EQ(parse_sizes("1"), Sizes({1}));
  EXPECT_EQ(parse_sizes("3K"), Sizes({3072}));
  EXPECT_EQ(parse_sizes("1K:4K"), Sizes({1024, 2048, 4096}));
  EXPECT_EQ(parse_sizes("1K:16M:4"), Sizes({1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24}));
  EXPECT_EQ(parse_sizes("100:1000:3"), Sizes({100, 300, 900}));
  EXPECT_EQ(parse_sizes("2G:2G"), Sizes({std::int64_t{1} << 31}));
}

TEST(Sizes, RefuseWhatIsNone) {
  for (const std::string text : {"", "0", "-1", "x", "1k", "1KB", "1.5K", "4K:1K", "1K:", ":1K", "1K:2K:1", "1K:2K:4:8",
                                 "1K:2K:2K", "9999999999G"})
    EXPECT_NE(error_of([&] { parse_sizes(text); }).find("--bytes " + text + ":"), std::string::npos) << text;
}

TEST(Sizes, ArePrintedWithTheLargestUnitThatDividesThem) {
  EXPECT_EQ(size_text(1000), "1000");
  EXPECT_EQ(size_text(1024), "1K");
  EXPECT_EQ(size_text(1536), "1536");
  EXPECT_EQ(size_text(std::int64_t{3} << 30), "3G");
  EXPECT_EQ(size_text(0), "0");
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
  Sizes hottest, popularity;
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

SweepLine line_of(std::string exchange, std::vector<double> samples) {
  return {std::move(exchange), summarize(samples), samples, samples, std::nullopt, 0};
}

TEST(Findings, NameWhatBeatsTheLibraryOnlyWhereTheIntervalsAreApart) {
  SweepResult apart{{"uniform", 4096, uniform_traffic(2, 4096, 1)}, {}};
  apart.lines = {line_of("mpi_alltoallv", {4, 4, 4, 4, 5, 5}), line_of("linear", {2, 2, 2, 2, 2, 2}),
                 line_of("pairwise", {3, 3, 3, 3, 3, 4}), line_of("auto", {5, 5, 5, 5, 5, 5})};
  const std::string text = findings({apart});
  EXPECT_NE(text.find("uniform        4K  linear                    2.00 [2.00, 2.50]"), std::string::npos) << text;
  EXPECT_EQ(text.find("pairwise"), std::string::npos) << text;
  EXPECT_NE(text.find("auto: at worst 1.25 [1.00, 1.25] of the time of mpi_alltoallv (uniform, 4K bytes); "
                      "slower, intervals apart, on 0 of 1"),
            std::string::npos)
      << text;
  apart.lines = {line_of("mpi_alltoallv", {1, 1}), line_of("linear", {2, 2})};
  EXPECT_NE(findings({apart}).find("nothing beats mpi_alltoallv"), std::string::npos);
  apart.lines.erase(apart.lines.begin());
  EXPECT_EQ(findings({apart}), "");
}

TEST(Rates, AreThoseOfTheBusiestRank) {
  const SweepResult hot{{"matrix", 500, read("0 100\n900 0\n")}, {line_of("linear", {1e-3})}};
  EXPECT_EQ(hot.traffic.busiest(), 900);
  const auto json = to_json(hot.traffic, hot.lines[0]);
  EXPECT_DOUBLE_EQ(json.at("algbw_bytes_per_s").get<double>(), 900e3);
  EXPECT_DOUBLE_EQ(json.at("busbw_bytes_per_s").get<double>(), 450e3);
}

TEST(MessageTimes, AreLinearBetweenThePoints) {
  const MessageTimes times({{100, 1.0}, {200, 2.0}, {400, 6.0}});
  EXPECT_DOUBLE_EQ(times.seconds(10), 1.0);
  EXPECT_DOUBLE_EQ(times.seconds(150), 1.5);
  EXPECT_DOUBLE_EQ(times.seconds(300), 4.0);
  EXPECT_DOUBLE_EQ(times.seconds(600), 10.0);
}

}  // namespace
}  // namespace shardmark
