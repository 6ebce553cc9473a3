// SPDX-License-Identifier: Apache-2.0
#include "kernels/fill_rows.hpp"
#include "kernels/test/bags.hpp"
#include "reference/row_values.hpp"

namespace shardmark::kernels::test {
namespace {

template <class Types>
class FillRowsTest : public testing::Test {};
TYPED_TEST_SUITE(FillRowsTest, AllTypes);

TYPED_TEST(FillRowsTest, GivesEachCellTheValueOfItsGlobalPlace) {
  using Value = typename TypeParam::Value;
  const typename TypeParam::Exec exec;
  const RowValues values{.seed = 11};
  const ShardRows shard{.table = 3, .begin = 2, .stride = 5, .count = 40, .column_begin = 4, .dim = 7};
  const Array<typename TypeParam::Exec, Value> rows("rows", 280);
  fill_rows(exec, values, shard, rows.data());
  const auto filled = host(rows);
  EXPECT_EQ(filled[0], Value{values(3, 2, 4)});
  for (std::int64_t i = 0; i < 40; ++i)
    for (std::int64_t c = 0; c < 7; ++c) ASSERT_EQ(filled[at(i * 7 + c)], Value{values(3, 2 + 5 * i, 4 + c)});
  EXPECT_EQ(count_changed_rows(exec, values, shard, rows.data()), 0);
}

TYPED_TEST(FillRowsTest, CountsRowsWithAnyOtherBit) {
  using Value = typename TypeParam::Value;
  const typename TypeParam::Exec exec;
  const auto values = KOKKOS_LAMBDA(std::int64_t, std::int64_t row, std::int64_t) { return row == 1 ? 0.0F : 1.0F; };
  const ShardRows shard{.count = 5, .dim = 3};
  std::vector<Value> cells(15, 1);
  for (std::size_t c = 3; c < 6; ++c) cells[c] = 0;
  const auto changed = [&] { return count_changed_rows(exec, values, shard, array_of(exec, cells, "rows").data()); };
  EXPECT_EQ(changed(), 0);
  cells[4] = -Value{0};
  cells[14] = std::nextafter(Value{1}, Value{2});
  cells[12] = 7;
  EXPECT_EQ(changed(), 2);
}

}  // namespace
}  // namespace shardmark::kernels::test
