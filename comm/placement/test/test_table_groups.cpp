// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "comm/placement/traffic/table_groups.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

using Numbers = std::vector<std::int64_t>;

struct Tables {
  std::vector<Table> tables;
  std::vector<Feature> features;
  Plan plan;

  explicit Tables(const Numbers& dims) {
    for (const std::int64_t dim : dims) {
      features.push_back({.name = "f", .table = std::ssize(tables)});
      tables.push_back({.name = "t", .rows = 10, .dim = dim});
      plan.tables.push_back({.shards = {{{0, 10, 1}, 0, dim, 0}}});
    }
  }
  Numbers groups(TableGroups wanted) const { return group_of_tables(wanted, plan, tables, features); }
};

Numbers sizes(const Numbers& group_of_table) {
  Numbers sizes(static_cast<std::size_t>(count_groups(group_of_table)));
  for (const std::int64_t group : group_of_table) ++sizes[group];
  return sizes;
}

TEST(TableGroups, ByCountTheFirstGroupsHaveOneMore) {
  const Tables tables(Numbers(26, 16));
  EXPECT_EQ(sizes(tables.groups({4})), (Numbers{7, 7, 6, 6}));
  EXPECT_EQ(sizes(tables.groups({3})), (Numbers{9, 9, 8}));
  EXPECT_EQ(sizes(tables.groups({1})), Numbers{26});
  EXPECT_EQ(sizes(tables.groups({TableGroups::table})), Numbers(26, 1));
  EXPECT_TRUE(std::ranges::is_sorted(tables.groups({4})));
}

TEST(TableGroups, ByBytesTheyShareTheValues) {
  const Tables tables({128, 16, 16, 16, 16, 64});
  EXPECT_EQ(tables.groups({2, GroupBalance::bytes}), (Numbers{0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(tables.groups({2, GroupBalance::count}), (Numbers{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(Tables({1, 1, 1, 128}).groups({3, GroupBalance::bytes}), (Numbers{0, 0, 1, 2}));
}

TEST(TableGroups, DataParallelTablesAreInTheLastAndDoNotCount) {
  Tables tables({16, 16, 16});
  tables.plan.tables[0] = {.data_parallel = true, .shards = {}};
  EXPECT_EQ(tables.groups({2}), (Numbers{1, 0, 1}));
  EXPECT_EQ(tables.groups({TableGroups::table}), (Numbers{1, 0, 1}));
  EXPECT_THROW(tables.groups({3}), InputError);
}

}  // namespace
}  // namespace shardmark::placement
