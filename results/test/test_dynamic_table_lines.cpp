// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "results/table/dynamic_tables.hpp"

namespace shardmark::results {
namespace {

TEST(DynamicTableLines, SayWhatTheTablesHoldAndHowRowsCameAndWent) {
  CaseRecord record;
  EXPECT_TRUE(dynamic_table_lines({&record}).empty());
  record.details["dynamic"] = {{"tables", 26},           {"rows", 12'345},
                               {"found", 700},           {"admitted", 100},
                               {"absent", 200},          {"evicted", 1'500},
                               {"load", 0.5794},         {"keys", "00c0ffee00c0ffee"},
                               {"bytes_per_row", 91.25}, {"key_bytes_per_row", 27.25}};
  EXPECT_EQ(dynamic_table_lines({&record}),
            std::vector<std::string>{"dynamic: 26 tables hold 12,345 rows in 91.25 bytes each, 27.25 of them for keys "
                                     "(load 0.58); of the keys of the timed steps 70.0 % had a row, 10.0 % got one, "
                                     "20.0 % have none; 1,500 rows were evicted; their keys: 00c0ffee00c0ffee"});
}

}  // namespace
}  // namespace shardmark::results
