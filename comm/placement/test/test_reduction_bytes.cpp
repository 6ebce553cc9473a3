// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "comm/placement/traffic/reduction_bytes.hpp"

namespace shardmark::placement {
namespace {

using Rows = std::vector<std::vector<std::int64_t>>;

Rows rows_of(ReductionSteps steps, const std::vector<std::int64_t>& bytes) {
  const ByteMatrix sent = reduction_bytes(steps, bytes);
  Rows rows(bytes.size());
  for (int from = 0; from < sent.ranks(); ++from)
    for (int to = 0; to < sent.ranks(); ++to) rows[from].push_back(sent(from, to));
  return rows;
}

TEST(ReductionBytes, DirectlyGoStraightToTheirRank) {
  EXPECT_EQ(rows_of(ReductionSteps::direct, {1, 20, 300}), (Rows{{0, 20, 300}, {1, 0, 300}, {1, 20, 0}}));
  EXPECT_EQ(rows_of(ReductionSteps::direct, {5}), Rows{{0}});
}

TEST(ReductionBytes, OfHalvingAmongFour) {
  EXPECT_EQ(rows_of(ReductionSteps::halving, {1, 20, 300, 4000}),
            (Rows{{0, 20, 4300, 0}, {1, 0, 0, 4300}, {21, 0, 0, 4000}, {0, 21, 300, 0}}));
  EXPECT_EQ(rows_of(ReductionSteps::halving, {5}), Rows{{0}});
}

/// Rank 0 leaves its share of the work to rank 1.
TEST(ReductionBytes, OfHalvingAmongThree) {
  EXPECT_EQ(rows_of(ReductionSteps::halving, {1, 20, 300}), (Rows{{0, 321, 0}, {1, 0, 300}, {0, 21, 0}}));
}

/// Ranks 0 and 2 leave theirs to 1 and 3; with 4 and 5 these are four.
TEST(ReductionBytes, OfHalvingAmongSix) {
  EXPECT_EQ(rows_of(ReductionSteps::halving, {1, 2, 10, 20, 100, 200}), (Rows{{0, 333, 0, 0, 0, 0},
                                                                              {1, 0, 0, 30, 300, 0},
                                                                              {0, 0, 0, 333, 0, 0},
                                                                              {0, 3, 10, 0, 0, 300},
                                                                              {0, 33, 0, 0, 0, 200},
                                                                              {0, 0, 0, 33, 100, 0}}));
}

}  // namespace
}  // namespace shardmark::placement
