// SPDX-License-Identifier: Apache-2.0
// The pure parts of `shardmark exchange`: sizes, findings.
#include <gtest/gtest.h>

#include "comm/placement/traffic/skew.hpp"
#include "reference/error.hpp"
#include "workloads/sweep/report.hpp"
#include "workloads/sweep/sizes.hpp"

namespace shardmark::workloads {
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

TEST(Sizes, AreOneSizeOrASweep) {
  EXPECT_EQ(parse_sizes("1"), Sizes({1}));
  EXPECT_EQ(parse_sizes("3KiB"), Sizes({3072}));
  EXPECT_EQ(parse_sizes("1KiB:4KiB"), Sizes({1024, 2048, 4096}));
  EXPECT_EQ(parse_sizes("1KiB:16MiB:4"),
            Sizes({1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24}));
  EXPECT_EQ(parse_sizes("16G"), Sizes({16'000'000'000}));
  EXPECT_EQ(parse_sizes("1KB:4K"), Sizes({1000, 2000, 4000}));
  EXPECT_EQ(parse_sizes("1.5k"), Sizes({1500}));
  EXPECT_EQ(parse_sizes("100:1000:3"), Sizes({100, 300, 900}));
  EXPECT_EQ(parse_sizes("2GiB:2GiB"), Sizes({std::int64_t{1} << 31}));
}

TEST(Sizes, RefuseWhatIsNone) {
  for (const std::string text :
       {"", "0", "-1", "x", "1kbit", "1.5", "4K:1K", "1K:", ":1K", "1K:2K:1", "1K:2K:4:8", "1K:2K:2K", "9999999999G"})
    EXPECT_NE(error_of([&] { parse_sizes(text); }).find("--bytes " + text + ":"), std::string::npos) << text;
}

TEST(Sizes, ArePrintedWithTheLargestUnitThatDividesThem) {
  EXPECT_EQ(size_text(1000), "1KB");
  EXPECT_EQ(size_text(1024), "1KiB");
  EXPECT_EQ(size_text(1535), "1535");
  EXPECT_EQ(size_text(std::int64_t{3} << 30), "3GiB");
  EXPECT_EQ(size_text(0), "0");
}

SweepLine line_of(std::string exchange, std::vector<double> samples) {
  return {std::move(exchange), results::summarize(samples), samples, samples, std::nullopt, 0};
}

TEST(Findings, NameWhatBeatsTheLibraryOnlyWhereTheIntervalsAreApart) {
  SweepResult apart{{"uniform", 4096, placement::uniform_traffic(2, 4096, 1)}, {}};
  apart.lines = {line_of("mpi_alltoallv", {4, 4, 4, 4, 5, 5}), line_of("linear", {2, 2, 2, 2, 2, 2}),
                 line_of("pairwise", {3, 3, 3, 3, 3, 4}), line_of("auto", {5, 5, 5, 5, 5, 5})};
  const std::string text = findings({apart});
  EXPECT_NE(text.find("uniform      4KiB  linear                    2.00 [2.00, 2.50]"), std::string::npos) << text;
  EXPECT_EQ(text.find("pairwise"), std::string::npos) << text;
  EXPECT_NE(text.find("auto: at worst 1.25 [1.00, 1.25] of the time of mpi_alltoallv (uniform, 4KiB); "
                      "slower, intervals apart, on 0 of 1"),
            std::string::npos)
      << text;
  apart.lines = {line_of("mpi_alltoallv", {1, 1}), line_of("linear", {2, 2})};
  EXPECT_NE(findings({apart}).find("nothing beats mpi_alltoallv"), std::string::npos);
  apart.lines.erase(apart.lines.begin());
  EXPECT_EQ(findings({apart}), "");
}

TEST(Rates, AreThoseOfTheBusiestRank) {
  placement::ByteMatrix matrix(2);
  matrix.set(0, 1, 100);
  matrix.set(1, 0, 900);
  const SweepResult hot{{"matrix", 500, matrix}, {line_of("linear", {1e-3})}};
  EXPECT_EQ(matrix.busiest(), 900);
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
}  // namespace shardmark::workloads
