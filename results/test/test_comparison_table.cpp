// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "results/comparison_table.hpp"

namespace shardmark::results {
namespace {

CaseComparison timed(const std::string& name, Change change, double ratio, const std::string& advice = "") {
  return {.name = name,
          .old_ms = 2.5,
          .new_ms = 2.5 * ratio,
          .ratio = ratio,
          .low = ratio - 0.0125,
          .high = ratio + 0.0125,
          .floor = 0.0123,
          .p = 0.00049,
          .change = change,
          .advice = advice};
}

TEST(ComparisonTable, Golden) {
  std::vector<CaseComparison> cases{timed("same|one", Change::same, 1.0), timed("better", Change::better, 0.5),
                                    timed("unclear", Change::unclear, 1.03125, "run 24 launches of each"),
                                    timed("worse", Change::worse, 1.0625)};
  cases[1].old_ms = 0.5;
  cases[1].new_ms = 1e-4;
  cases[2].floor.reset();
  cases.push_back({.name = "missing", .advice = "not in NEW (new/1); run it there"});
  EXPECT_EQ(comparison_table(cases, "heading"),
            "heading\n"
            "\n"
            "1 worse, 1 better, 1 same, 1 unclear, 1 missing, of 5 cases; slowest: worse 1.062 [1.050, 1.075]\n"
            "\n"
            "| case | old | new | new / old [95 %] | floor | p | verdict |\n"
            "|:--|--:|--:|:--|--:|--:|:--|\n"
            "| worse | 2.5 ms | 2.656 ms | 1.062 [1.050, 1.075] | 1.2 % | 0.00049 | **worse** |\n"
            "| unclear | 2.5 ms | 2.578 ms | 1.031 [1.019, 1.044] | – | 0.00049 | unclear: run 24 launches of each |\n"
            "| missing | – | – | – | – | – | missing: not in NEW (new/1); run it there |\n"
            "| better | 500 µs | 100 ns | 0.500 [0.487, 0.512] | 1.2 % | 0.00049 | **better** |\n"
            "| same\\|one | 2.5 ms | 2.5 ms | 1.000 [0.988, 1.012] | 1.2 % | 0.00049 | same |\n"
            "\n"
            "RESULT: WORSE (1 worse, 1 better, 1 same, 1 unclear, 1 missing, of 5 cases)\n");
}

TEST(ComparisonTable, Results) {
  const auto result = [](const std::vector<CaseComparison>& cases) {
    const std::string text = comparison_table(cases, "");
    return text.substr(text.rfind("RESULT"));
  };
  EXPECT_EQ(result({timed("a", Change::same, 1.0)}),
            "RESULT: NOT WORSE (0 worse, 0 better, 1 same, 0 unclear, 0 missing, of 1 case)\n");
  EXPECT_EQ(result({timed("a", Change::same, 1.0), timed("b", Change::unclear, 1.0)}),
            "RESULT: UNCLEAR (0 worse, 0 better, 1 same, 1 unclear, 0 missing, of 2 cases)\n");
}

TEST(ComparisonTable, SaysFirstWhatFails) {
  std::vector cases{timed("a", Change::unclear, 1.25), timed("b", Change::same, 1.0)};
  EXPECT_NE(comparison_table(cases, "heading", 0.1).find("\nnone of 2 more than 10 % slower\n"), std::string::npos);
  cases[0].fails = true;
  const std::string text = comparison_table(cases, "heading", 0.1);
  EXPECT_NE(text.find("\n1 of 2 more than 10 % slower: a 1.250 [1.238, 1.262]\n\n| case"), std::string::npos) << text;
  EXPECT_NE(text.find("RESULT: FAILED (0 worse"), std::string::npos) << text;
}

TEST(ComparisonTable, SaysWhatABaselineCanShow) {
  EXPECT_EQ(
      floors_text(std::vector<BaselineFloor>{{"noisy", 0.25, 0.1}, {"usual", 0.05, 0.02}, {"still", 0.01, 0.0}}, 24),
      "this baseline of 24 launches can show changes above 5.0 % only (its median case; up to 25.0 % in noisy), in "
      "as many pairs above 2.0 %\n");
  EXPECT_EQ(floors_text({}, 2), "this baseline can show no change: 3 launches or more tell its noise\n");
}

}  // namespace
}  // namespace shardmark::results
