// SPDX-License-Identifier: Apache-2.0
// What is said of tables as tensor trains, with numbers that can be checked by eye.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "results/results_table.hpp"
#include "results/table/tensor_trains.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

/// A case of one table of 10^6 / scale rows of 64 values: 256 MB / scale of rows, no state.
CaseRecord dense_case(const std::string& plan, double ms, std::int64_t scale = 1) {
  CaseRecord record = sample_case(plan, ms);
  record.options["storage"] = "dense";
  record.options["dim"] = 64;
  record.options["scale"] = scale;
  record.options["replicated_gradients"] = "dense";
  record.changed.clear();
  record.sent_bytes_max = 256'000'000 / scale;
  record.details["table_bytes_max"] = 256'000'000 / scale;
  return record;
}

/// The same as cores of 100,000 values.
CaseRecord tt_case(const std::string& plan, double ms, std::int64_t scale = 1) {
  CaseRecord record = dense_case(plan, ms, scale);
  record.options["storage"] = "tt";
  record.changed = {"storage"};
  record.sent_bytes_max = 400'000;
  record.details["table_bytes_max"] = 400'000;
  record.details["tensor_train"] = {{"tables", 1},
                                    {"parameters", 100'000},
                                    {"compression", 640.0 / static_cast<double>(scale)},
                                    {"direction", "suffix"},
                                    {"lookups", 10'240},
                                    {"rows", 9'000},
                                    {"prefixes", {500, 9'000}},
                                    {"us_per_lookup", 0.25},
                                    {"nominal_gflops", 200.0},
                                    {"executed_gflops", 50.0}};
  return record;
}

std::vector<std::string> sentences_of(const std::vector<CaseRecord>& cases) {
  const auto environment = sample_environment();
  return storage_sentences(findings_of(environment, cases));
}

std::vector<std::string> lines_of(const std::vector<CaseRecord>& cases) { return tensor_train_lines(ranked(cases)); }

TEST(TensorTrains, AreNotSpokenOfWhereThereAreNone) {
  EXPECT_TRUE(sentences_of({dense_case("table_wise", 10.0), dense_case("row_wise", 20.0)}).empty());
  EXPECT_TRUE(sentences_of({tt_case("table_wise", 10.0)}).empty());
  EXPECT_TRUE(lines_of({dense_case("table_wise", 10.0)}).empty());
}

TEST(TensorTrains, SayWhatTheyShareAndHowFastTheyAre) {
  std::vector cases{tt_case("table_wise", 20.0), dense_case("table_wise", 10.0)};
  EXPECT_EQ(lines_of(cases),
            std::vector<std::string>{
                "tt: tables as products of cores, 640.0 times fewer values; a step has 10,240 lookups of "
                "9,000 rows by 500 shared products (suffix); 50.00 GFLOP/s executed, 200.0 nominal"});
  cases[0].details["tensor_train"]["cache"] = {{"hit_rate", 0.625}};
  EXPECT_EQ(lines_of(cases)[0],
            "tt: tables as products of cores, 640.0 times fewer values; 62 % of the lookups hit its cache");
}

TEST(TensorTrains, StandBesideThePublishedTimeOfFbtt) {
  CaseRecord record = tt_case("table_wise", 20.0);
  record.details["tensor_train"]["fbtt_published_us_per_lookup"] = 0.416;
  record.details["tensor_train"]["fbtt_printed_gflops"] = 2000.0;
  EXPECT_EQ(
      lines_of({record}).at(1),
      "fbtt: 0.250 us per lookup forward + backward + update, 0.416 published (GPU); GFLOP/s: 200.0 nominal, 50.00 "
      "executed, 2000 FBTT-printed (published accounting, 10 times too high)");
}

TEST(TensorTrains, ThatAreSlowerSayFromWhichSizeTheyWin) {
  const auto sentences = sentences_of({dense_case("table_wise", 10.0), tt_case("table_wise", 20.0)});
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(
      sentences[0],
      "Measured at 1,000,000 rows: dense is 2.00 times [1.93, 2.08] as fast as tt; a rank holds 0.400 MB of tt in "
      "place of 256.0 of dense, 640.0 times less; it sends 0.400 MB a step in place of 256.0.");
  EXPECT_EQ(sentences[1],
            "tt wins by memory from about 1,560 rows (estimated: as many bytes as tt takes here); by time not at "
            "this size (others: --scale).");
}

/// The dense update takes 4.5 ms at 10^6 rows: as much more for as many more rows, at most.
TEST(TensorTrains, BesideReplicatedTablesHaveAnEstimatedCrossing) {
  const auto size_of = [](double dense_ms, double tt_ms) {
    return sentences_of({dense_case("data_parallel", dense_ms), tt_case("data_parallel", tt_ms)}).at(1);
  };
  constexpr const char* rule = "(estimated, if all of the dense update grows with the rows, and tt stays as it is).";
  EXPECT_TRUE(size_of(10.0, 19.0)
                  .ends_with(std::string("; by time with data_parallel from at least about 3,000,000 rows ") + rule))
      << size_of(10.0, 19.0);
  EXPECT_TRUE(size_of(10.0, 7.75)
                  .ends_with(std::string("; by time with data_parallel from at most about 500,000 rows ") + rule))
      << size_of(10.0, 7.75);
  EXPECT_NE(size_of(10.0, 1.0).find("; by time with data_parallel at any size (estimated, "), std::string::npos);
  CaseRecord one_rank = dense_case("data_parallel", 10.0);
  one_rank.ranks = 1;
  EXPECT_TRUE(sentences_of({one_rank, tt_case("data_parallel", 9.0)})
                  .at(1)
                  .ends_with("by time at this size (others: --scale)."));
}

TEST(TensorTrains, AtSeveralScalesHaveAMeasuredCrossing) {
  std::vector cases{dense_case("table_wise", 20.0, 1),   tt_case("table_wise", 10.0, 1),
                    dense_case("table_wise", 10.0, 10),  tt_case("table_wise", 9.0, 10),
                    dense_case("table_wise", 5.0, 100),  tt_case("table_wise", 5.25, 100),
                    dense_case("table_wise", 1.0, 1000), tt_case("table_wise", 4.0, 1000)};
  const auto by_time = [&] {
    const std::string text = sentences_of(cases).at(1);
    return text.substr(text.find("by time"));
  };
  EXPECT_EQ(by_time(), "by time from 100,000 rows on (measured: not yet at 10,000) with table_wise.");
  std::ranges::for_each(cases, [](CaseRecord& r) {
    if (r.option("storage") == "tt") r.samples_per_s *= 1e-3, r.step_ms = step_time({1e3, 1e3, 1e3, 1e3, 1e3, 1e3});
  });
  EXPECT_EQ(by_time(), "by time at no measured size up to 1,000,000 rows with table_wise.");
}

TEST(TensorTrains, StandBesideDenseTablesOfTheirSizeAndTraffic) {
  std::vector cases{dense_case("table_wise", 1.0, 1000), tt_case("table_wise", 4.0, 10),
                    dense_case("table_wise", 2.0, 10), tt_case("table_wise", 3.0, 10)};
  cases[3].options["ids.distribution"] = "power_law";
  for (const std::size_t uniform : {0, 1, 2}) cases[uniform].options["ids.distribution"] = "uniform";
  const std::string text = sentences_of(cases).at(0);
  EXPECT_TRUE(text.starts_with("Measured at 100,000 rows: dense is 2.00 times")) << text;
  EXPECT_NE(text.find("0.400 MB of tt in place of 25.60 of dense"), std::string::npos) << text;
}

TEST(TensorTrains, StandBesideDenseTablesOfEachPlan) {
  std::vector cases{dense_case("data_parallel", 30.0), tt_case("data_parallel", 9.0), dense_case("table_wise", 10.0),
                    tt_case("table_wise", 12.0)};
  cases[1].details["tensor_train"]["fbtt_published_us_per_lookup"] = 0.416;
  cases[1].details["tensor_train"]["fbtt_printed_gflops"] = 2000.0;
  for (CaseRecord& record : cases)
    if (record.option("storage") == "tt") record.options["tt.ranks"] = "8,8", record.changed.push_back("tt.ranks");
  const std::string text = results_table(sample_environment(), cases);
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) EXPECT_LE(line.size(), 120U) << line;
  EXPECT_NE(text.find("# plan           storage      ms "), std::string::npos) << text;
  EXPECT_NE(text.find(", tt.ranks 8,8,"), std::string::npos) << text;
  for (const char* part : {"\n  data_parallel  dense    30.00", "\n  data_parallel  tt        9.000",
                           "\n  table_wise     dense", "\n  table_wise     tt", " table MB",
                           "\n# fbtt: ", "\n# tt: ", "Measured at 1,000,000 rows: tt (data_parallel) is 1.11 times"})
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  const Report report{sample_environment(), cases};
  EXPECT_NE(as_markdown({&report, 1}, {}).find("\n\nfbtt: 0.250 us per lookup"), std::string::npos);
  EXPECT_NE(as_csv({&report, 1}, {}).find(",tensor_train.us_per_lookup,"), std::string::npos);
}

/// A file can hold anything.
TEST(TensorTrains, ThatMakeNoSenseAreNoError) {
  std::vector cases{dense_case("table_wise", 10.0), tt_case("table_wise", 20.0)};
  cases[1].details["tensor_train"] = {
      {"parameters", "many"}, {"compression", nullptr}, {"prefixes", "none"}, {"cache", 7}};
  EXPECT_EQ(sentences_of(cases).at(1), "tt wins by time not at this size (others: --scale).");
  EXPECT_TRUE(lines_of(cases).empty());
  for (const nlohmann::ordered_json& odd :
       {nlohmann::ordered_json("no object"), nlohmann::ordered_json::array({1, 2}), nlohmann::ordered_json(nullptr)}) {
    cases[1].details["tensor_train"] = odd;
    cases[1].details["table_bytes_max"] = odd;
    EXPECT_FALSE(results_table(sample_environment(), cases).empty());
  }
}

}  // namespace
}  // namespace shardmark::results
