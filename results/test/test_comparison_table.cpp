// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "results/comparison_table.hpp"

namespace shardmark {
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
  EXPECT_EQ(comparison_table(cases, "heading\n"),
            "heading\n"
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

}  // namespace
}  // namespace shardmark
