// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "workloads/checkpoint/saved_layout.hpp"

namespace shardmark::workloads {
namespace {

using datasets::hdf5::RowElement;

constexpr std::int64_t most = std::int64_t{1} << 31;

datasets::SavedField numbers_of(std::int64_t rows) {
  const datasets::SavedArray all{.path = "/tables/t", .rows = rows, .fields = {{"values", RowElement::fp32, 16}}};
  const auto fields = with_row_numbers(all);
  EXPECT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields.back(), all.fields.front());
  return fields.front();
}

TEST(RowNumbers, HaveFourBytesWhereAllFit) {
  EXPECT_EQ(numbers_of(most), (datasets::SavedField{"row", RowElement::int32, 1}));
  EXPECT_EQ(numbers_of(most + 1), (datasets::SavedField{"row", RowElement::int64, 1}));
}

TEST(RowNumbers, ComeBackUpToTheLast) {
  for (const std::int64_t rows : {most, most + 1}) {
    const auto field = numbers_of(rows);
    const std::vector<std::int64_t> numbers{0, 7, rows - 1};
    std::vector<std::byte> bytes(static_cast<std::size_t>(3 * field.bytes()));
    put_row_numbers(field, numbers, bytes);
    EXPECT_EQ(row_numbers(field, bytes), numbers);
  }
}

}  // namespace
}  // namespace shardmark::workloads
