// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "results/test/sample_records.hpp"
#include "results/twin.hpp"

namespace shardmark::results {
namespace {

const std::vector<std::int64_t> eight(8, 1);
const StepTime first = step_time({10.0, 20.0, 11.0, 19.0, 12.0, 18.0, 13.0, 17.0}, eight);
const StepTime again = step_time({10.1, 19.9, 11.1, 19.0, 12.1, 17.9, 13.0, 17.1}, eight);

TEST(Twin, IsComparedWithinRounds) {
  const Twin twin = twin_of(first, again, 0, 1);
  EXPECT_EQ(twin.ratio.rounds, 8);
  EXPECT_FALSE(twin.ratio.is_distinguishable());
  EXPECT_GT(twin.smallest_shown, 1.003);
  EXPECT_LT(twin.smallest_shown, 1.02);
  EXPECT_GT(twin_of(first, again, 0, 20).smallest_shown, twin.smallest_shown);
}

TEST(Twin, MayBeginLater) {
  const StepTime longer =
      step_time({30.0, 30.0, 10.0, 20.0, 11.0, 19.0, 12.0, 18.0, 13.0, 17.0}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_EQ(twin_of(longer, again, 2, 1).ratio.ratio, twin_of(first, again, 0, 1).ratio.ratio);
  EXPECT_EQ(twin_of(first, again, 8, 1).smallest_shown, 0.0);
}

TEST(Twin, OfACaseThatDiffersFromItselfShowsNoLess) {
  const StepTime slower = step_time({11.0, 22.0, 12.1, 20.9, 13.2, 19.8, 14.3, 18.7}, eight);
  const Twin twin = twin_of(first, slower, 0, 1);
  EXPECT_TRUE(twin.ratio.is_distinguishable());
  EXPECT_GE(twin.smallest_shown, 1.1 - 1e-9);
}

TEST(Twin, IsReadBack) {
  const Twin twin = twin_of(first, again, 3, 1);
  const auto read = twin_of({{twin_field, to_json(twin)}});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->first_round, 3);
  EXPECT_EQ(read->ratio.high, twin.ratio.high);
  EXPECT_EQ(read->smallest_shown, twin.smallest_shown);
  EXPECT_FALSE(twin_of(nlohmann::ordered_json{{"loss", 1}}));
  EXPECT_FALSE(twin_of(nlohmann::ordered_json{{twin_field, 7}}));
}

TEST(Twin, ClosesTheAnswer) {
  std::vector cases{sample_case("row_wise", 20.0), sample_case("table_wise", 10.0)};
  cases[1].details[twin_field] = to_json(twin_of(first, again, 0, 1));
  const std::string last = answer_to(cases).back();
  EXPECT_EQ(last.substr(0, 43), "This run could have shown differences of 1.") << last;
  EXPECT_NE(last.find("table_wise, measured twice as two cases, took 1.00"), std::string::npos) << last;
  cases[1].details[twin_field] = to_json(twin_of(step_time({10, 11}, {1, 1}), step_time({11, 10}, {1, 1}), 0, 1));
  EXPECT_EQ(answer_to(cases).back(), "This run could not have shown any difference: 2 rounds are too few.");
}

TEST(Answer, SaysTwoModesInWords) {
  std::vector cases{sample_case("row_wise", 20.0), sample_case("table_wise", 10.0)};
  cases[0].details["modes"] = {{"fast_ms", 11.2}, {"slow_ms", 33.9}, {"slow_share", 0.25}};
  const auto sentences = answer_to(cases);
  EXPECT_NE(std::ranges::find(sentences,
                              "The times of row_wise have two modes, 11.20 ms in 75 % of its steps and 33.90 ms in "
                              "25 %: no single number describes them."),
            sentences.end());
}

TEST(Answer, SaysWhatTheBudgetLeftOut) {
  auto environment = sample_environment();
  environment["left_out"] = {"row_wise auto auto", "grid auto auto"};
  const std::vector cases{sample_case("table_wise", 10.0)};
  const auto sentences = answer(findings_of(environment, cases));
  EXPECT_EQ(sentences.back(), "Not measured, as --budget has no time for them: row_wise auto auto and grid auto auto.");
}

}  // namespace
}  // namespace shardmark::results
