// SPDX-License-Identifier: Apache-2.0
// Records of exchanges: their table and findings.
#include <gtest/gtest.h>

#include "reference/named.hpp"
#include "reference/size.hpp"
#include "results/results_table.hpp"
#include "results/statistics.hpp"
#include "results/table/exchanges.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

ExchangeRecord exchange_of(std::string exchange, std::vector<double> samples_ms, std::int64_t bytes = 4096) {
  const Summary summary = summarize(samples_ms);
  return {.skew = "uniform",
          .bytes = bytes,
          .busiest_bytes = bytes,
          .exchange = std::move(exchange),
          .ranks = 4,
          .time_ms = {.min = summary.min,
                      .median = summary.median,
                      .p99 = summary.p99,
                      .low = summary.low,
                      .high = summary.high,
                      .n = summary.n,
                      .samples = std::move(samples_ms)},
          .ping_pong_ms = 1.0,
          .wrong = 0};
}

TEST(Sizes, ArePrintedWithTheLargestUnitThatDividesThem) {
  EXPECT_EQ(size_text(1000), "1KB");
  EXPECT_EQ(size_text(1024), "1KiB");
  EXPECT_EQ(size_text(1535), "1535");
  EXPECT_EQ(size_text(std::int64_t{3} << 30), "3GiB");
  EXPECT_EQ(size_text(0), "0");
}

TEST(ExchangeFindings, NameWhatBeatsTheLibraryOnlyWhereTheIntervalsAreApart) {
  std::vector apart{exchange_of("mpi_alltoallv", {4, 4, 4, 4, 5, 5}), exchange_of("linear", {2, 2, 2, 2, 2, 2}),
                    exchange_of("pairwise", {3, 3, 3, 3, 3, 4}), exchange_of("auto", {5, 5, 5, 5, 5, 5})};
  const std::string text = exchange_findings(apart);
  EXPECT_NE(text.find("uniform      4KiB  linear                    2.00 [2.00, 2.50]"), std::string::npos) << text;
  EXPECT_EQ(text.find("pairwise"), std::string::npos) << text;
  EXPECT_NE(text.find("auto: at worst 1.25 [1.00, 1.25] of the time of mpi_alltoallv (uniform, 4KiB); "
                      "slower, intervals apart, on 0 of 1"),
            std::string::npos)
      << text;
  apart = {exchange_of("mpi_alltoallv", {1, 1}), exchange_of("linear", {2, 2})};
  EXPECT_NE(exchange_findings(apart).find("nothing beats mpi_alltoallv"), std::string::npos);
  apart.erase(apart.begin());
  EXPECT_EQ(exchange_findings(apart), "");
}

TEST(ExchangeRecords, AreReadAsTheyWereWritten) {
  ExchangeRecord record = exchange_of("linear", {2, 3, 4});
  EXPECT_EQ(exchange_record_from_json(to_json(record), "a:2"), record);
  record.ping_pong_ms.reset();
  record.time_ms.samples.clear();
  EXPECT_EQ(exchange_record_from_json(to_json(record), "a:2"), record);
  auto json = to_json(record);
  json["time_ms"]["median"] = 0.0;
  EXPECT_EQ(input_error([&] { exchange_record_from_json(json, "a:2"); }),
            "a:2: time_ms.median is not above 0; measure again");
  json.erase("skew");
  EXPECT_EQ(input_error([&] { exchange_record_from_json(json, "a:2"); }),
            "a:2: the record lacks 'skew'; measure again");
}

TEST(ExchangeTable, HasTheShortestMedianOfEachTrafficFirstInEveryFormat) {
  std::vector records{exchange_of("linear", {3, 3}), exchange_of("auto", {2, 2}), exchange_of("linear", {5, 5}, 8192),
                      exchange_of("auto", {6, 6}, 8192)};
  const auto environment = sample_environment();
  const auto printed = [&](std::string_view format) {
    const Report report{.environment = environment, .cases = {}, .name = "a.jsonl", .exchanges = records};
    return choice_named(results_formats, "format", format).print({&report, 1}, {});
  };
  const std::string text = printed("text");
  EXPECT_TRUE(text.starts_with("# shardmark 0.1.0, commit 0123456789ab with changes")) << text;
  EXPECT_NE(text.find("\n# skew     bytes exchange "), std::string::npos) << text;
  std::size_t at = 0;
  for (const char* line : {"4KiB auto ", "4KiB linear ", "8KiB linear ", "8KiB auto "}) {
    at = text.find(line, at);
    ASSERT_NE(at, std::string::npos) << line << '\n' << text;
  }
  EXPECT_TRUE(text.ends_with("RESULT: VALID\n")) << text;
  EXPECT_NE(printed("markdown").find("| uniform | 4KiB | auto | 2000.0 | 2000.0 |"), std::string::npos)
      << printed("markdown");
  EXPECT_TRUE(printed("csv").starts_with("skew,bytes,busiest_bytes,exchange,ranks,time_ms.min,")) << printed("csv");
  const auto json = nlohmann::json::parse(printed("json"));
  EXPECT_EQ(json[0]["exchanges"][1]["exchange"], "auto");
  EXPECT_FALSE(json[0]["exchanges"][1]["time_ms"].contains("samples"));
  records[0].wrong = 3;
  EXPECT_TRUE(printed("text").ends_with("RESULT: INVALID (3 wrong bytes)\n"));
}

}  // namespace
}  // namespace shardmark::results
