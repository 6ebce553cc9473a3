// SPDX-License-Identifier: Apache-2.0
#include "kernels/route/later_rows.hpp"
#include "kernels/test/bags.hpp"

namespace shardmark::kernels::test {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Five features, the second without bags, the third not wanted; the last has no first row, and any keys.
TEST(LaterRows, FirstRowsAreLeftOutAndTheOthersCountedFromTheFirst) {
  const Space exec;
  const Numbers first_bag{0, 2, 2, 4, 7, 8}, offsets{0, 3, 4, 5, 6, 6, 8, 9, 11};
  const Numbers indices{5, 2, 3, 0, 7, 8, 1, 9, 0, -7, 4}, wanted_bag{0, 2, 2, 2, 5, 6};
  const std::vector<float> weights{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  LaterRowsWorkspace<Space> workspace;
  for (const bool weighted : {true, false}) {
    const Bags<Space, std::int64_t> bags{array_of(exec, first_bag, ""), array_of(exec, offsets, ""),
                                         array_of(exec, indices, ""),
                                         array_of(exec, weighted ? weights : std::vector<float>(), "")};
    const LaterRows<Space> wanted{array_of(exec, Numbers{3, 100, 0, 1, 0}, ""), array_of(exec, wanted_bag, ""), 6, 9};
    const auto later = later_rows<Space>(exec, wanted, bags, workspace);
    EXPECT_EQ(host(later.first_bag), wanted_bag);
    EXPECT_EQ(host(later.offsets), (Numbers{0, 2, 2, 2, 4, 4, 6}));
    Numbers left = host(later.indices);
    left.resize(6);
    EXPECT_EQ(left, (Numbers{2, 0, 0, 8, -7, 4}));
    std::vector<float> left_weights = host(later.weights);
    left_weights.resize(weighted ? 6 : 0);
    EXPECT_EQ(left_weights, (weighted ? std::vector<float>{1, 3, 7, 8, 10, 11} : std::vector<float>()));
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
