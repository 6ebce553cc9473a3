// SPDX-License-Identifier: Apache-2.0
// The pure parts of `shardmark exchange`: sizes, records.
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

TEST(Rates, AreThoseOfTheBusiestRank) {
  placement::ByteMatrix matrix(2);
  matrix.set(0, 1, 100);
  matrix.set(1, 0, 900);
  EXPECT_EQ(matrix.busiest(), 900);
  const std::vector samples{1e-3};
  const SweepLine line{"linear", results::summarize(samples), samples, samples, 5e-4, 3};
  const results::ExchangeRecord record = record_of({"matrix", 500, matrix}, line);
  EXPECT_DOUBLE_EQ(record.algorithm_rate(), 900e3);
  EXPECT_DOUBLE_EQ(record.bus_rate(), 450e3);
  EXPECT_DOUBLE_EQ(record.time_ms.median, 1.0);
  EXPECT_DOUBLE_EQ(record.ping_pong_ms.value(), 0.5);
  EXPECT_EQ(record.wrong, 3);
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
