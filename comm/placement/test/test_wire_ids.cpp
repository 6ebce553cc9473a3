// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "comm/placement/traffic/wire_ids.hpp"

namespace shardmark::placement {
namespace {

constexpr std::int64_t most = std::int64_t{1} << 31;  // the rows 0 ... 2^31 - 1 are int32

IdType type_of(std::int64_t rows, const std::vector<Shard>& shards, WireIds requested = WireIds::automatic) {
  const std::vector<Table> tables{{.name = "small", .rows = 3, .dim = 4}, {.name = "t", .rows = rows, .dim = 4}};
  const Plan plan{.name = "p",
                  .ranks = 2,
                  .tables = {{.shards = {whole(tables[0], 1)}}, {.data_parallel = shards.empty(), .shards = shards}}};
  return id_type(requested, plan, tables);
}

TEST(WireIds, AreInt32UpTo2To31RowsOfAShard) {
  EXPECT_EQ(type_of(most, {{{0, most, 1}, 0, 4, 0}}), IdType::int32);
  EXPECT_EQ(type_of(most + 1, {{{0, most + 1, 1}, 0, 4, 0}}), IdType::int64);
  EXPECT_EQ(type_of(most + 1, {{{0, most, 1}, 0, 4, 0}, {{most, most + 1, 1}, 0, 4, 1}}), IdType::int32);
}

TEST(WireIds, AreLocalRowsOfTablesSplitModulo) {
  EXPECT_EQ(type_of(2 * most, {{{0, 2 * most, 2}, 0, 4, 0}, {{1, 2 * most, 2}, 0, 4, 1}}), IdType::int32);
  EXPECT_EQ(type_of(2 * most + 1, {{{0, 2 * most + 1, 2}, 0, 4, 0}, {{1, 2 * most + 1, 2}, 0, 4, 1}}), IdType::int64);
}

TEST(WireIds, OfReplicatedTablesCountToo) {
  EXPECT_EQ(type_of(most, {}), IdType::int32);
  EXPECT_EQ(type_of(most + 1, {}), IdType::int64);
}

TEST(WireIds, AreInt64WhenAsked) {
  EXPECT_EQ(type_of(4, {{{0, 4, 1}, 0, 4, 0}}, WireIds::int64), IdType::int64);
  EXPECT_EQ(named<WireIds>("auto"), WireIds::automatic);
  EXPECT_THROW(named<WireIds>("int16"), InputError);
}

}  // namespace
}  // namespace shardmark::placement
