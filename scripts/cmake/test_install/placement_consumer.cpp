// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_check.hpp"
#include "reference/table.hpp"

int main() {
  const std::vector<shardmark::Table> tables{{.name = "colours", .rows = 7, .dim = 4}};
  shardmark::placement::Plan plan;
  plan.ranks = 2;
  plan.tables = {{.shards = {{{0, 7, 2}, 0, 4, 0}, {{1, 7, 2}, 0, 4, 1}}}};
  const auto problems = shardmark::placement::check(plan, tables);
  for (const auto& problem : problems) std::printf("%s\n", problem.c_str());
  return problems.empty() ? 0 : 1;
}
