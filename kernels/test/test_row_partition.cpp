// SPDX-License-Identifier: Apache-2.0
#include "kernels/route/row_partition.hpp"
#include "kernels/test/bags.hpp"
#include "reference/error.hpp"

namespace shardmark::kernels::test {
namespace {

OwnedRow found(const RowPartition& partition, std::int64_t row) {
  return row_owners(Kokkos::DefaultHostExecutionSpace{}, partition).of(partition.strips().back()).find(row);
}

void expect_owner(const RowPartition& partition, std::int64_t row, std::int64_t slot, std::int64_t local_row) {
  const auto owned = found(partition, row);
  EXPECT_EQ(owned.slot, slot) << "row " << row;
  EXPECT_EQ(owned.local_row, local_row) << "row " << row;
}

TEST(RowPartition, SingleOwnerIsOneBlockOfModulusOne) {
  RowPartition partition;
  partition.add_strip(0, 10, std::vector<OwnedRows>{{0, 10, 1, 7}});
  ASSERT_EQ(partition.blocks().size(), 1U);
  EXPECT_EQ(partition.blocks()[0].modulus, 1);
  expect_owner(partition, 9, 7, 9);
}

TEST(RowPartition, ModuloIsOneBlock) {
  RowPartition partition;
  partition.add_strip(0, 10, std::vector<OwnedRows>{{2, 10, 3, 12}, {0, 10, 3, 10}, {1, 10, 3, 11}});
  ASSERT_EQ(partition.blocks().size(), 1U);
  expect_owner(partition, 0, 10, 0);
  expect_owner(partition, 9, 10, 3);
  expect_owner(partition, 7, 11, 2);
  expect_owner(partition, 8, 12, 2);
}

TEST(RowPartition, ModuloOverMoreShardsThanRowsLeavesSomeEmpty) {
  RowPartition partition;
  partition.add_strip(0, 2, std::vector<OwnedRows>{{0, 2, 4, 0}, {1, 2, 4, 1}, {2, 2, 4, 2}, {3, 2, 4, 3}});
  expect_owner(partition, 1, 1, 0);
}

TEST(RowPartition, BlocksAreSearched) {
  RowPartition partition;
  partition.add_strip(3, 10, std::vector<OwnedRows>{{0, 4, 1, 0}, {4, 4, 1, 1}, {4, 7, 1, 2}, {7, 10, 1, 3}});
  EXPECT_EQ(partition.strips()[0].feature, 3);
  expect_owner(partition, 3, 0, 3);
  expect_owner(partition, 4, 2, 0);
  expect_owner(partition, 9, 3, 2);
}

TEST(RowPartition, MixesBlocksStridesAndModuli) {
  RowPartition partition;  // 0..4 to slot 0; 5, 7, 9, 11 to slot 1; 6, 10 to slot 2; 8, 12 to slot 3; 13.. to slot 4
  partition.add_strip(
      0, 16, std::vector<OwnedRows>{{0, 5, 1, 0}, {5, 13, 2, 1}, {6, 13, 4, 2}, {8, 13, 4, 3}, {13, 16, 1, 4}});
  EXPECT_EQ(partition.blocks().size(), 3U);
  expect_owner(partition, 2, 0, 2);
  expect_owner(partition, 5, 1, 0);
  expect_owner(partition, 11, 1, 3);
  expect_owner(partition, 10, 2, 1);
  expect_owner(partition, 8, 3, 0);
  expect_owner(partition, 15, 4, 2);
}

/// Where a quotient rounded the wrong way would show.
TEST(RowPartition, QuotientsAndResiduesAreThoseOfIntegers) {
  for (const std::int64_t modulus : {1, 2, 3, 7, 10, 49, 1000, 99991, 1 << 20}) {
    const RowBlock block{.first_row = 5, .modulus = modulus, .inverse = 1 / static_cast<double>(modulus)};
    for (int bits = 0; bits <= 50; ++bits)
      for (std::int64_t offset = -2; offset <= 2; ++offset) {
        const std::int64_t multiple = ((std::int64_t{1} << bits) / modulus + 1) * modulus;
        const std::int64_t within = std::max<std::int64_t>(0, multiple + offset);
        const auto [quotient, residue] = block.place(5 + within);
        ASSERT_EQ(quotient, within / modulus) << within << " over " << modulus;
        ASSERT_EQ(residue, within % modulus) << within << " over " << modulus;
      }
  }
}

TEST(RowPartition, RefusesRowsThatAreMissingOrDoubled) {
  const auto add = [](std::int64_t rows, const std::vector<OwnedRows>& shards) {
    RowPartition partition;
    partition.add_strip(0, rows, shards);
  };
  EXPECT_THROW(add(10, {}), InputError);
  EXPECT_THROW(add(10, {{0, 9, 1, 0}}), InputError);
  EXPECT_THROW(add(10, {{1, 10, 1, 0}}), InputError);
  EXPECT_THROW(add(10, {{0, 5, 1, 0}, {6, 10, 1, 1}}), InputError);
  EXPECT_THROW(add(10, {{0, 6, 1, 0}, {5, 10, 1, 1}}), InputError);
  EXPECT_THROW(add(10, {{0, 10, 2, 0}}), InputError);
  EXPECT_THROW(add(10, {{0, 10, 3, 0}, {1, 10, 3, 1}}), InputError);
  EXPECT_THROW(add(10, {{0, 10, 2, 0}, {1, 8, 2, 1}}), InputError);
  EXPECT_THROW(add(12, {{0, 12, 2, 0}, {1, 12, 4, 1}, {1, 12, 4, 2}}), InputError);
  EXPECT_NO_THROW(add(0, {}));
}

TEST(RowPartition, ErrorNamesFeatureAndRow) {
  RowPartition partition;
  try {
    partition.add_strip(5, 10, std::vector<OwnedRows>{{0, 4, 1, 0}});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("feature 5"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("row 4"), std::string::npos);
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
