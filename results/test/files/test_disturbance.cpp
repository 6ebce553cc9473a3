// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "results/disturbance.hpp"
#include "results/results_table.hpp"
#include "results/test/sample_records.hpp"
#include "results/verdict.hpp"

namespace shardmark::results {
namespace {

/// Of visits of half a second.
constexpr VisitConditions quiet{.seconds = 0.5, .switches = 4, .others_cpu_seconds = 0.01, .stolen_seconds = 0.0};
constexpr VisitConditions shared{.seconds = 0.5, .switches = 90, .others_cpu_seconds = 0.4, .stolen_seconds = 0.0};

TEST(Disturbance, IsOfAVisitWhoseProcessorsOthersTook) {
  EXPECT_FALSE(quiet.is_disturbed());
  EXPECT_TRUE(shared.is_disturbed());
  EXPECT_TRUE((VisitConditions{.seconds = 0.5, .stolen_seconds = 0.1}).is_disturbed());
}

/// Others compute on processors that the ranks may use but do not.
TEST(Disturbance, IsNoneWhereNoThreadOfOursLostItsProcessor) {
  EXPECT_FALSE((VisitConditions{.seconds = 0.5, .switches = 3, .others_cpu_seconds = 0.5}).is_disturbed());
}

TEST(Disturbance, OfACaseIsThatOfMoreThanAFifthOfItsVisits) {
  CaseRecord record = sample_case("table_wise", 10.0);
  EXPECT_FALSE(is_disturbed(record));
  record.details[conditions_field] = to_json(std::vector{quiet, quiet, shared, quiet, quiet});
  EXPECT_FALSE(is_disturbed(record));
  EXPECT_EQ(disturbance_text({&record}), "");
  record.details[conditions_field] = to_json(std::vector{quiet, shared, shared, quiet});
  EXPECT_TRUE(is_disturbed(record));
  EXPECT_EQ(
      disturbance_text({&record}).substr(0, 105),
      "DISTURBED: in 2 of 4 visits other processes took the processors of this run: 0.41 of them on average, and");
  record.details[conditions_field] = "unreadable";
  EXPECT_FALSE(is_disturbed(record));
}

TEST(Disturbance, IsInTheVerdictAndBeforeTheAnswer) {
  std::vector cases{sample_case("table_wise", 10.0)};
  cases[0].details[conditions_field] = to_json(std::vector{shared, shared});
  const Verdict verdict = verdict_of(cases);
  EXPECT_TRUE(verdict.valid);
  EXPECT_EQ(verdict.line(), "RESULT: VALID, DISTURBED");
  const std::string text = results_table(sample_environment(), cases);
  const auto line = text.find("\nDISTURBED: in 2 of 2 visits"), answer = text.find("\nANSWER: ");
  ASSERT_NE(line, std::string::npos) << text;
  EXPECT_LT(line, answer);
  EXPECT_TRUE(text.ends_with("\nRESULT: VALID, DISTURBED\n")) << text;
  cases[0].wrong = 1;
  EXPECT_EQ(verdict_of(cases).line().find("DISTURBED"), std::string::npos);
}

}  // namespace
}  // namespace shardmark::results
