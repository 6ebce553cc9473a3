// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "results/results_table.hpp"
#include "results/table/layout.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

TEST(Layout, NamesAreShortenedInTheMiddle) {
  EXPECT_EQ(shortened("data_parallel", 13), "data_parallel");
  EXPECT_EQ(shortened("data_parallel", 12), "data_..allel");
  EXPECT_EQ(shortened("data_parallel", 5), "da..l");
  EXPECT_EQ(shortened("äöüßäöüß", 6), "äö..üß");
  EXPECT_EQ(width_of("äöü"), 3U);
}

TEST(Layout, WordsAreWrapped) {
  EXPECT_EQ(wrapped("one two three", "# ", "#   ", 9), "# one two\n#   three\n");
  EXPECT_EQ(wrapped("one", "# ", "#   ", 120), "# one\n");
  EXPECT_EQ(wrapped("averylongword b", "", "  ", 5), "averylongword\n  b\n");
}

Column text_column(std::string header, Importance importance, std::vector<std::string> cells) {
  return {.header = std::move(header), .importance = importance, .left_aligned = true, .cells = std::move(cells)};
}

TEST(Layout, TheMostImportantColumnsThatFitAreShown) {
  const std::vector columns{
      text_column("plan", Importance::choice, {"a"}), text_column("input", Importance::exchange_phases, {"1.000"}),
      text_column("exch", Importance::exchange_sum, {"3"}), text_column("imbal", Importance::balance, {"1.00"}),
      text_column("picked", Importance::remark, {"pairwise"})};
  const auto headers = [&](std::size_t width) {
    std::string text;
    for (const Column& column : laid_out(columns, {{0}}, width).columns) text += column.header + ' ';
    return text;
  };
  EXPECT_EQ(headers(120), "plan input imbal picked ");
  EXPECT_EQ(headers(29), "plan input imbal ");
  EXPECT_EQ(headers(19), "plan exch imbal ");
  EXPECT_EQ(headers(18), "plan input ");
  EXPECT_EQ(headers(12), "plan exch ");
  EXPECT_EQ(laid_out(columns, {{0}}, 19).left_out, (std::vector<std::string>{"input", "picked"}));
}

/// Cases that differ in nearly all that can differ, with names of any length.
std::vector<CaseRecord> many_fields(std::size_t name_length) {
  std::vector<CaseRecord> records;
  for (int i = 0; i < 8; ++i) {
    CaseRecord record =
        sample_case((i % 2 == 0 ? "even" : "odd") + std::string(name_length, 'x') + "_end", 12345.0 + i);
    record.options["exchange"] = i < 4 ? "linear_throttled:4" : "node_leader:1";
    record.options["transfer"] = i < 3 ? "reduce_scatter_pairwise" : "sparse_partials";
    record.options["wire_forward"] = i < 2 ? "fp16" : "fp32";
    record.options["replicated_gradients"] = i < 1 ? "dense" : "rows";
    record.options["ids.distribution"] = i < 5 ? "power_law" : "uniform";
    record.options["stochastic_rounding"] = i < 6;
    record.options["groups"] = 1 + i;
    record.options["weight_decay_mode"] = i < 7 ? "decoupled" : "l2";
    record.communication_ms = record.exposed_ms = 10.0 * i;
    record.wire_error = WireError{{1e-3 * i, 1e-4 * i}, {2e-3 * i, 2e-4 * i}};
    record.sent_bytes_max = 123'400'000 + i;
    record.details["picked"] = std::string(static_cast<std::size_t>(10 * i), 'p');
    records.push_back(record);
  }
  return records;
}

TEST(Layout, EveryLineFits120ColumnsWhateverTheOptions) {
  for (const std::size_t length : {0, 20, 200})
    for (const bool all : {false, true}) {
      const auto records = many_fields(length);
      const std::string text = results_table(sample_environment(), records, {.all = all});
      std::istringstream stream(text);
      std::int64_t cases = 0;
      for (std::string line; std::getline(stream, line);) {
        if (line.find(std::string(120, 'x')) != std::string::npos) continue;  // a word of the answer
        EXPECT_LE(line.size(), 120U) << line;
        cases += line.starts_with("  even") || line.starts_with("  odd");
      }
      EXPECT_EQ(cases, all ? 8 : 2) << text;
      EXPECT_NE(text.find("# left out, as lines would be too long: "), std::string::npos) << text;
    }
}

}  // namespace
}  // namespace shardmark::results
