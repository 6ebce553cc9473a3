// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "results/test/sample_records.hpp"
#include "results/time_ratio.hpp"
#include "results/verdict.hpp"

namespace shardmark::results {
namespace {

CaseRecord wrong_case(const std::string& plan, double ms, std::int64_t wrong) {
  CaseRecord record = sample_case(plan, ms);
  record.wrong = wrong;
  return record;
}

CaseRecord unchecked_case(const std::string& plan, double ms) {
  CaseRecord record = sample_case(plan, ms);
  record.checked_steps = 0;
  return record;
}

TEST(Verdict, AllCheckedAndRightIsValid) {
  const std::vector records{sample_case("a", 10), sample_case("b", 5)};
  EXPECT_TRUE(verdict_of(records).valid);
  EXPECT_EQ(verdict_of(records).line(), "RESULT: VALID");
}

TEST(Verdict, OneWrongValueMakesAllInvalid) {
  const std::vector records{sample_case("a", 10), wrong_case("b", 5, 31), wrong_case("c", 5, 2)};
  EXPECT_FALSE(verdict_of(records).valid);
  EXPECT_EQ(verdict_of(records).line(),
            "RESULT: INVALID (wrong values in 2 of 3 cases, first b dense_partials mpi_alltoallv: 31 wrong)");
}

TEST(Verdict, UncheckedIsInvalidAndSaysSo) {
  const std::vector records{sample_case("a", 10), unchecked_case("b", 5)};
  EXPECT_FALSE(verdict_of(records).valid);
  EXPECT_EQ(verdict_of(records).line(), "RESULT: INVALID (1 of 2 cases unchecked)");
}

TEST(Verdict, BothReasonsAreGiven) {
  const std::vector records{unchecked_case("a", 10), wrong_case("b", 5, 1)};
  EXPECT_EQ(verdict_of(records).line(),
            "RESULT: INVALID (wrong values in 1 of 2 cases, first b dense_partials mpi_alltoallv: 1 wrong; 1 of 2 "
            "cases unchecked)");
}

TEST(Verdict, NothingMeasuredIsInvalid) { EXPECT_EQ(verdict_of({}).line(), "RESULT: INVALID (no case was measured)"); }

TEST(Verdict, ARunThatDidNotEndIsInterruptedUnlessSomethingIsWrong) {
  nlohmann::ordered_json environment{{"state", "interrupted by SIGUSR1"}, {"rounds", 1}};
  std::vector records{sample_case("a", 10)};
  EXPECT_EQ(verdict_of(records, environment).line(), "RESULT: INTERRUPTED (interrupted by SIGUSR1, after 1 round)");
  EXPECT_TRUE(verdict_of(records, environment).valid);
  environment["state"] = "running";
  environment["rounds"] = 3;
  EXPECT_EQ(verdict_of(records, environment).line(), "RESULT: INTERRUPTED (still running, or cut off, after 3 rounds)");
  records.push_back(unchecked_case("b", 5));
  EXPECT_EQ(verdict_of(records, environment).line(),
            "RESULT: INVALID (1 of 2 cases unchecked; still running, or cut off, after 3 rounds)");
  EXPECT_FALSE(verdict_of(records, environment).valid);
}

TEST(Verdict, TheBestCaseIsValid) {
  const std::vector records{wrong_case("wrong", 1, 1), unchecked_case("unchecked", 2), sample_case("slow", 10),
                            sample_case("fast", 5)};
  ASSERT_NE(best_valid_case(records), nullptr);
  EXPECT_EQ(best_valid_case(records)->plan, "fast");
  EXPECT_EQ(best_valid_case(std::span(records).first(2)), nullptr);
}

TEST(Published, TakesTheBestValidCaseOfEachPlan) {
  const std::vector records{sample_case("distributed", 10), sample_case("dp+localized", 8),
                            sample_case("dp+localized", 5), wrong_case("dp+localized", 1, 3)};
  EXPECT_EQ(beside_published(records, "dp+localized", "distributed", 1.845, "8 x V100 16 GB, HugeCTR notebook"),
            "dp+localized / distributed: 2.00 here, 1.845 published (8 x V100 16 GB, HugeCTR notebook)");
  EXPECT_EQ(beside_published(records, "dp+localized", "other", 1.845, "source"), std::nullopt);
  EXPECT_EQ(beside_published(records, "other", "distributed", 1.845, "source"), std::nullopt);
}

TEST(Verdict, RatiosAreRecorded) {
  std::vector records{sample_case("slow", 20.0), sample_case("fast", 10.0)};
  for (CaseRecord& record : records)
    record.step_ms = step_time(record.step_ms.samples, std::vector<std::int64_t>(6, 1));
  record_ratios(records);
  const auto& beside = records[0].details.at("vs_best");
  const TimeRatio expected = time_ratio(records[0], records[1]);
  EXPECT_EQ(beside.at("ratio"), expected.ratio);
  EXPECT_EQ(beside.at("low"), expected.low);
  EXPECT_EQ(beside.at("high"), expected.high);
  EXPECT_EQ(beside.at("rounds"), 6);
  EXPECT_EQ(beside.at("best_ms"), records[1].step_ms.median);
  EXPECT_EQ(records[1].details.at("vs_best").at("ratio"), 1.0);
  std::vector alone{sample_case("alone", 10.0)};
  record_ratios(alone);
  EXPECT_FALSE(alone[0].details.contains("vs_best"));
}

}  // namespace
}  // namespace shardmark::results
