// SPDX-License-Identifier: Apache-2.0
#include "kernels/sort/balanced_ranges.hpp"
#include "kernels/test/bags.hpp"

namespace shardmark::kernels::test {
namespace {

TEST(Search, FindsFirstAndLast) {
  const std::vector<std::int64_t> values{0, 0, 3, 3, 7};
  const auto value_at = [&](std::int64_t i) { return values[at(i)]; };
  EXPECT_EQ(first_at_least(5, 0, value_at), 0);
  EXPECT_EQ(first_at_least(5, 1, value_at), 2);
  EXPECT_EQ(first_at_least(5, 7, value_at), 4);
  EXPECT_EQ(first_at_least(5, 8, value_at), 5);
  EXPECT_EQ(first_at_least(0, 8, value_at), 0);
  EXPECT_EQ(last_at_most(5, 0, value_at), 1);
  EXPECT_EQ(last_at_most(5, 6, value_at), 3);
  EXPECT_EQ(last_at_most(5, 100, value_at), 4);
}

TEST(BalancedRanges, CoverEveryItemOnceAndBoundTheWork) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    Random random(seed);
    HostBags bags;
    bags.add_random(random, draw(random, 0, 200), 10, draw(random, 0, 20));
    const auto offset_of = [&](std::int64_t i) { return bags.offsets[at(i)]; };
    const BalancedRanges ranges{bags.bags(), std::ssize(bags.indices), draw(random, 1, 64)};
    std::int64_t next = 0;
    std::int64_t largest_bag = 0;
    for (std::int64_t bag = 0; bag < bags.bags(); ++bag) largest_bag = std::max(largest_bag, bags.size(bag));
    for (std::int64_t r = 0; r < ranges.count(); ++r) {
      EXPECT_EQ(ranges.begin(r, offset_of), next);
      const std::int64_t end = ranges.begin(r + 1, offset_of);
      EXPECT_LE(end - next + offset_of(end) - offset_of(next), ranges.grain + largest_bag + 1);
      next = end;
    }
    EXPECT_EQ(next, bags.bags());
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
