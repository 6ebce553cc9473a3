// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "comm/placement/divided_plan.hpp"
#include "comm/placement/plan_check.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/test/random_tables.hpp"

namespace shardmark::placement {
namespace {

std::vector<Table> divided_tables(std::vector<Table> tables, std::int64_t scale) {
  for (Table& table : tables) table.rows = (table.rows - 1) / scale + 1;
  return tables;
}

TEST(DividedPlan, OfEveryPlannerIsSoundAndKeepsPlaces) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const RandomTables whole(random);
    const int ranks = 1 + static_cast<int>(random() % 5);
    for (const Planner& planner : planners) {
      const Plan plan = make_plan(planner.name, whole.tables, whole.features, {.ranks = ranks, .replicate_rows = 4});
      for (const std::int64_t scale : {2, 3, 7, 500}) {
        const auto tables = divided_tables(whole.tables, scale);
        const Plan divided = divided_plan(plan, tables, scale);
        EXPECT_TRUE(check(divided, tables).empty())
            << planner.name << ", seed " << seed << ", scale " << scale << ": " << check(divided, tables).front();
        for (std::size_t t = 0; t < tables.size(); ++t) {
          EXPECT_EQ(divided.tables[t].data_parallel, plan.tables[t].data_parallel);
          EXPECT_LE(divided.tables[t].shards.size(), plan.tables[t].shards.size());
        }
      }
    }
  }
}

TEST(DividedPlan, OfOtherTablesIsNotSound) {
  const std::vector<Table> whole{{"A", 1000, 4, {}}}, other{{"A", 99, 4, {}}};
  const Plan plan = make_plan("row_wise_block", whole, {}, {.ranks = 3});
  EXPECT_FALSE(check(divided_plan(plan, other, 10), other).empty());
  const std::vector<Table> tables = divided_tables(whole, 10);
  EXPECT_EQ(divided_plan(plan, tables, 10).tables[0].shards[1], (Shard{{34, 68, 1}, 0, 4, 1}));
  Plan others = plan;  // blocks that are not TorchRec's
  others.tables[0].shards[0].rows.end = others.tables[0].shards[1].rows.begin = 310;
  EXPECT_EQ(divided_plan(others, tables, 10).tables[0].shards[1], (Shard{{31, 67, 1}, 0, 4, 1}));
}

}  // namespace
}  // namespace shardmark::placement
