// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

std::string sentence_with(const std::vector<CaseRecord>& cases, const std::string& part) {
  for (const std::string& sentence : answer_to(cases))
    if (sentence.find(part) != std::string::npos) return sentence;
  return "";
}

CaseRecord by(const std::string& plan, const std::string& exchange, double ms) {
  CaseRecord record = sample_case(plan, ms);
  record.options["exchange"] = exchange;
  return record;
}

TEST(Answer, NamesTheBestPlanAndByHowMuch) {
  const auto sentences =
      answer_to({by("row_wise", "auto", 20.0), by("table_wise", "auto", 10.0), by("column_wise", "auto", 40.0)});
  ASSERT_GE(sentences.size(), 4U);
  EXPECT_EQ(sentences[0], "The fastest plan is table_wise: 10.00 ms [9.750, 10.25] a step, 1,638,400 samples/s.");
  EXPECT_EQ(sentences[1], "It is 2.00 times [1.93, 2.08] as fast as the runner-up, row_wise.");
  EXPECT_EQ(sentences[2], "The slowest, column_wise, takes 4.00 times as long.");
  EXPECT_EQ(sentences[3], "Its time: 56 % update, 25 % lookup, 19 % exchanges (input 19).");
}

TEST(Answer, SaysWhenIntervalsOverlap) {
  EXPECT_EQ(
      answer_to({by("row_wise", "auto", 10.5), by("table_wise", "pairwise", 10.0)})[1],
      "It is statistically indistinguishable from row_wise (exchange auto), 1.05 times [1.00, 1.10] as fast; choose "
      "either.");
  EXPECT_EQ(answer_to({by("a", "auto", 10.5), by("b", "auto", 10.4), by("c", "auto", 10.0), by("d", "auto", 12.0)})[1],
            "It is statistically indistinguishable from b and a; choose any of them.");
}

/// Times of visits, one in each round: the same drift, which is far larger than what lies between the cases.
CaseRecord visited(const std::string& plan, double factor) {
  CaseRecord record = sample_case(plan, 1.0);
  std::vector<double> samples;
  for (const double drift : {11.0, 33.0, 15.0, 28.0, 12.0, 25.0, 19.0, 30.0}) {
    const double wobble = 1.0 + 0.004 * static_cast<double>(static_cast<std::int64_t>(drift + 10.0 * factor) % 3);
    samples.insert(samples.end(), 2, drift * factor * wobble);
  }
  record.step_ms = step_time(samples, std::vector<std::int64_t>(8, 2));
  record.samples_per_s = samples_per_second(16384, record.step_ms.median);
  return record;
}

TEST(Answer, JudgesDifferencesWithinRounds) {
  const std::vector cases{visited("row_wise", 1.5), visited("table_wise", 1.0)};
  ASSERT_GT(cases[1].step_ms.high, cases[0].step_ms.low);
  const std::string sentence = answer_to(cases)[1];
  EXPECT_EQ(sentence.substr(0, 10), "It is 1.49") << sentence;
  EXPECT_NE(sentence.find("as fast as the runner-up, row_wise"), std::string::npos) << sentence;
  const std::string other = answer_to({visited("row_wise", 1.2 * 1.0), visited("table_wise", 1.2)})[1];
  EXPECT_NE(other.find("indistinguishable"), std::string::npos) << other;
}

/// The machine was twice as slow from the seventh round on, when a slower case had been stopped already.
TEST(Answer, TheBestIsTheFastestWithinTheRoundsThatAreShared) {
  CaseRecord long_measured = visited("table_wise", 1.0), stopped = visited("row_wise", 1.0);
  stopped.step_ms = step_time({11.0, 12.0, 11.1, 12.1, 11.0, 12.0}, std::vector<std::int64_t>(6, 1));
  long_measured.step_ms =
      step_time({10.0, 11.0, 10.1, 11.1, 10.0, 11.0, 22.0, 22.0, 22.0, 22.0, 22.0, 22.0, 22.0, 22.0},
                std::vector<std::int64_t>(14, 1));
  for (CaseRecord* each : {&long_measured, &stopped})
    each->samples_per_s = samples_per_second(16384, each->step_ms.median);
  EXPECT_EQ(answer_to({stopped, long_measured})[0].substr(0, 33), "The fastest plan is table_wise: 2");
}

TEST(Answer, TooFewStepsShowNothing) {
  std::vector cases{by("row_wise", "auto", 20.0), by("table_wise", "auto", 10.0)};
  cases[0].step_ms = step_time({20.0, 20.0, 20.0});
  EXPECT_EQ(answer_to(cases)[1],
            "It was 2.00 times as fast as the runner-up, row_wise; fewer than 6 samples cannot tell that from chance.");
}

TEST(Answer, SaysWhetherAnythingElseMattersToTheBestPlan) {
  std::vector cases{by("table_wise", "auto", 10.0), by("table_wise", "pairwise", 10.1), by("row_wise", "auto", 20.0)};
  EXPECT_EQ(sentence_with(cases, "Within"),
            "Within table_wise (2 cases) all are statistically indistinguishable: choose any.");
  cases.push_back(by("table_wise", "bruck", 15.0));
  EXPECT_EQ(sentence_with(cases, "Within"),
            "Within table_wise (3 cases) exchange auto and exchange pairwise are statistically indistinguishable; the "
            "slowest, exchange bruck, takes 1.50 times as long.");
  cases[1] = by("table_wise", "pairwise", 12.0);
  EXPECT_EQ(sentence_with(cases, "Within"),
            "Within table_wise (3 cases) exchange auto is the fastest, 1.20 times [1.15, 1.26] as fast as exchange "
            "pairwise; the slowest, exchange bruck, takes 1.50 times as long.");
}

TEST(Answer, IsAboutThatInWhichCasesDifferFirst) {
  std::vector cases{by("row_wise", "auto", 20.0), by("row_wise", "auto", 10.0)};
  cases[1].options["transfer"] = "unique_rows";
  EXPECT_EQ(answer_to(cases)[0].substr(0, 40), "The fastest transfer is unique_rows: 10.");
  EXPECT_EQ(answer_to({by("row_wise", "auto", 20.0), by("row_wise", "bruck", 10.0)})[0].substr(0, 34),
            "The fastest exchange is bruck: 10.");
}

TEST(Answer, OneCaseIsBesideNothing) {
  EXPECT_EQ(answer_to({by("row_wise", "auto", 10.0)})[0],
            "row_wise: 10.00 ms [9.750, 10.25] a step, 1,638,400 samples/s.");
}

TEST(Answer, SaysWhatAutoPicked) {
  std::vector cases{by("row_wise", "auto", 10.0), by("row_wise", "pairwise", 20.0)};
  cases[0].details["picked"] = "bruck:2";
  EXPECT_EQ(answer_to(cases)[0].substr(0, 59), "The fastest exchange is auto, where auto picked bruck:2: 10");
}

TEST(Answer, CountsValidCasesAlone) {
  std::vector cases{by("row_wise", "auto", 20.0), by("table_wise", "auto", 10.0)};
  cases[1].wrong = 1;
  EXPECT_EQ(answer_to(cases)[0].substr(0, 47), "The only plan with a valid case is row_wise: 20");
  cases[0].checked_steps = 0;
  EXPECT_EQ(answer_to(cases), std::vector<std::string>{"No case is valid, and a rate without a right result is none."});
}

TEST(Answer, ComparesTimesPerSample) {
  std::vector cases{by("row_wise", "auto", 20.0), by("table_wise", "auto", 10.0)};
  cases[0].options["batch"] = 4 * 16384;
  cases[0].samples_per_s *= 4.0;
  EXPECT_EQ(answer_to(cases)[1].substr(0, 62), "It is 2.00 times [1.93, 2.08] as fast as the runner-up, table_");
}

TEST(Answer, SaysHowMuchOfTheStepIsCommunication) {
  std::vector cases{by("row_wise", "auto", 20.0)};
  cases[0].communication_ms = 5.0;
  EXPECT_NE(sentence_with(cases, "Its time").find("; 25 % of the step in communication calls"), std::string::npos);
}

TEST(Answer, OneRankPacksAndExchangesNothing) {
  std::vector cases{by("row_wise", "auto", 20.0)};
  cases[0].ranks = 1;
  EXPECT_NE(sentence_with(cases, "Its time").find("% packing (input "), std::string::npos);
  EXPECT_EQ(sentence_with(cases, "exchange"), "");
}

}  // namespace
}  // namespace shardmark::results
