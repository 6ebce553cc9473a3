// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/work.hpp"

namespace shardmark::reference {
namespace {

TEST(Work, Adds) {
  EXPECT_EQ((Work{1, 2, 3} + Work{10, 20, 30}), (Work{11, 22, 33}));
  EXPECT_EQ((Work{1, 2, 3}.bytes()), 3);
}

TEST(Work, LookupReadsADistinctRowOnce) {
  // 2 bags with 3 ids of 2 distinct rows of dim 4
  const LookupCounts counts{.bags = 2, .ids = 3, .id_elements = 12, .unique_bytes = 32, .output_elements = 8};
  EXPECT_EQ(pooled_lookup_work(counts, false, 4), (Work{8 * 4 + 3 * 4 + 3 * 8, 8 * 4, 12}));
  EXPECT_EQ(pooled_lookup_work(counts, true, 8), (Work{8 * 4 + 3 * 12 + 3 * 8, 8 * 4, 24}));
}

TEST(Work, UpdateReadsAndWritesADistinctRowOnce) {
  const UpdateCounts counts{.positions = 3,
                            .position_elements = 12,
                            .unique = 2,
                            .unique_elements = 8,
                            .row_bytes = 16,
                            .state_elements = 2,
                            .gradient_elements = 8};
  const auto work = fused_update_work(counts, false);
  EXPECT_EQ(work.bytes_written, 16 + 2 * 4);
  EXPECT_EQ(work.bytes_read, 16 + 2 * 4 + 8 * 4 + 3 * 16 + 5 * 8);
}

TEST(Work, SortCountsItsPasses) {
  EXPECT_EQ(unique_rows_work(1000, 8192, 10).bytes_written, 8000 + 80);
  EXPECT_EQ(unique_rows_work(1000, 8193, 10).bytes_written, 16000 + 80);
}

TEST(Work, RestIsPlain) {
  EXPECT_EQ(divide_by_bag_work(2, 8, 0), (Work{8 * 4 + 3 * 8, 8 * 4, 8}));
  EXPECT_EQ(bucketize_work(2, 3, 4, 6, true), (Work{3 * 8 + 3 * 12, 4 * 4 + 6 * 12, 0}));
}

}  // namespace
}  // namespace shardmark::reference
