// SPDX-License-Identifier: Apache-2.0
#include "kernels/fill_rows.hpp"
#include "kernels/test/bags.hpp"
#include "reference/rounding.hpp"
#include "reference/row_quantization.hpp"
#include "reference/row_values.hpp"

namespace shardmark::kernels::test {
namespace {

constexpr RowValues values{.seed = 11};

ShardRows shard_of(ValueType type) {
  return {.table = 3,
          .begin = 2,
          .stride = 5,
          .count = 40,
          .column_begin = 4,
          .dim = 7,
          .full_dim = 12,
          .value_type = type};
}

/// The value of a local cell as the whole table would store it.
float stored_value(const ShardRows& shard, std::int64_t i, std::int64_t c) {
  const std::int64_t row = shard.begin + i * shard.stride;
  const float value = values(shard.table, row, shard.column_begin + c);
  if (shard.value_type != ValueType::int8) return rounded_to(shard.value_type, value);
  std::vector<float> whole;
  for (std::int64_t k = 0; k < shard.full_dim; ++k) whole.push_back(values(shard.table, row, k));
  const RowScale scale = row_scale(whole);
  return scale.value(scale.quantized(value));
}

TEST(FillRows, GivesEachCellTheValueOfItsGlobalPlace) {
  const Space exec;
  for (const auto& type : value_types) {
    SCOPED_TRACE(type.name);
    const ShardRows shard = shard_of(type.value);
    const Array<Space, char> rows("rows", at(shard.count * row_bytes(type.value, shard.dim)));
    fill_rows(exec, values, shard, rows.data());
    EXPECT_EQ(count_changed_rows(exec, values, shard, rows.data()), 0);

    const std::vector<std::int64_t> wanted{39, 0, 17, 17};
    const Array<Space, float> output("output", wanted.size() * at(shard.dim));
    read_rows(exec, shard, rows.data(), array_of(exec, wanted, "wanted"), output);
    const auto read = host(output);
    for (std::size_t k = 0; k < wanted.size(); ++k)
      for (std::int64_t c = 0; c < shard.dim; ++c)
        ASSERT_EQ(read[k * at(shard.dim) + at(c)], stored_value(shard, wanted[k], c)) << wanted[k] << " " << c;
  }
}

TEST(FillRows, CountsRowsWithAnyOtherBit) {
  const Space exec;
  for (const auto& type : value_types) {
    SCOPED_TRACE(type.name);
    const ShardRows shard = shard_of(type.value);
    const std::int64_t bytes = row_bytes(type.value, shard.dim);
    const Array<Space, char> rows("rows", at(shard.count * bytes));
    fill_rows(exec, values, shard, rows.data());
    auto cells = host(rows);
    cells[at(3 * bytes)] ^= 1;
    cells[at(39 * bytes)] ^= 1;
    cells[at(39 * bytes) + 2] ^= 4;
    EXPECT_EQ(count_changed_rows(exec, values, shard, array_of(exec, cells, "rows").data()), 2);
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
