// SPDX-License-Identifier: Apache-2.0
// What is said of the loss and AUC of stale rows.
#include <gtest/gtest.h>

#include "results/table/convergence.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

CaseRecord trained_case(const std::string& mode, std::int64_t bound, double ms, double loss) {
  CaseRecord record = sample_case("row_wise", ms);
  record.options["async"] = mode;
  record.options["async_order"] = "input";
  record.details["loss"] = loss;
  record.details["auc"] = 1.0 - loss;
  record.details["auc_steps"] = 32;
  record.details["trained_steps"] = 128;
  if (mode != "off")
    record.details["pipeline"] = {{"staleness_bound", bound}, {"staleness", {{"p50", 0}, {"p99", 1}, {"max", bound}}}};
  return record;
}

TEST(Convergence, StandsBesideThatOfStepsThatAreNotStale) {
  const CaseRecord stale = trained_case("rows", 4, 4.0, 0.4375), off = trained_case("off", 0, 8.0, 0.4375 - 1.0 / 1024),
                   bound_0 = trained_case("rows", 0, 9.0, 0.4375 - 1.0 / 1024),
                   slower = trained_case("rows", 4, 9.5, 0.5);
  const auto lines = convergence_lines({&stale, &off, &bound_0, &slower});
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0], "async   order         S     stale       loss       - off      auc     - off       ms  off/ms");
  EXPECT_EQ(lines[1], "off     input         -         -    0.43652        same  0.56348      same    8.000    1.00");
  EXPECT_EQ(lines[2], "rows    input         0     0,1,0    0.43652        same  0.56348      same    9.000    0.89");
  EXPECT_EQ(lines[3], "rows    input         4     0,1,4    0.43750    +0.00098  0.56250  -0.00098    4.000    2.00");
  EXPECT_EQ(lines[4], "loss and auc: of the latest 32 of 128 steps from the first weights on, each on new samples;");
  for (const std::string& line : lines) EXPECT_LE(line.size(), 118u) << line;
}

TEST(Convergence, WithoutOffThoseOfBoundZeroAreNotStale) {
  const CaseRecord stale = trained_case("rows", 4, 4.0, 0.4375), bound_0 = trained_case("rows", 0, 8.0, 0.25);
  const auto lines = convergence_lines({&stale, &bound_0});
  EXPECT_NE(lines[0].find("- S 0"), std::string::npos) << lines[0];
  EXPECT_NE(lines[2].find("+0.18750"), std::string::npos) << lines[2];
  const auto alone = convergence_lines({&stale});
  EXPECT_NE(alone[1].find("0.43750           -"), std::string::npos) << alone[1];
}

TEST(Convergence, OneCaseHasOneLineThatCountsPassesOverTheData) {
  CaseRecord alone = trained_case("off", 0, 4.0, 0.4375);
  EXPECT_EQ(convergence_lines({&alone}),
            std::vector<std::string>{"loss 0.43750, auc 0.56250: of the latest 32 of 128 steps from the first weights "
                                     "on, each on new samples"});
  alone.details["data_passes"] = 2.5;
  EXPECT_NE(convergence_lines({&alone}).front().find("on, 2.50 passes over the data"), std::string::npos);
}

TEST(Convergence, NothingIsSaidOfCasesThatWereNotTrainedAnew) {
  CaseRecord timed = trained_case("rows", 4, 4.0, 0.4375);
  timed.details.erase("trained_steps");
  EXPECT_TRUE(convergence_lines({&timed}).empty());
}

}  // namespace
}  // namespace shardmark::results
