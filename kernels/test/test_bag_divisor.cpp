// SPDX-License-Identifier: Apache-2.0
#include "kernels/lookup/bag_divisor.hpp"
#include "kernels/test/bags.hpp"
#include "reference/pooled_lookup.hpp"

namespace shardmark::kernels::test {
namespace {

using ValueTypes = testing::Types<float, double>;
template <class Value>
class BagDivisorTest : public testing::Test {};
TYPED_TEST_SUITE(BagDivisorTest, ValueTypes);

TYPED_TEST(BagDivisorTest, DividesByHandComputedDivisors) {
  using Value = TypeParam;
  const Space exec;
  const std::vector<std::int64_t> offsets{0, 4, 4, 6, 8};  // bags of 4, 0, 2 and 2 ids
  const std::vector<float> weights{1, 1, 1, 1, 3, -4, 2, -2};
  const auto divided = [&](Pooling pooling, const std::vector<float>& used) {
    const auto vectors = array_of(exec, std::vector<Value>{10, 20, 30, 40, 50, 60, 70, 80}, "vectors");
    const std::vector<BagVectors> blocks{
        {.first_bag = 0, .bags = 4, .dim = 2, .begin = 0, .stride = 2, .pooling = pooling}};
    divide_by_bag(exec, array_of(exec, blocks, "blocks"), array_of(exec, offsets, "offsets"),
                  array_of(exec, used, "weights"), vectors);
    return host(vectors);
  };
  EXPECT_EQ(divided(Pooling::mean, {}), (std::vector<Value>{2.5, 5, 0, 0, 25, 30, 35, 40}));
  EXPECT_EQ(divided(Pooling::mean, weights), (std::vector<Value>{2.5, 5, 0, 0, -50, -60, 0, 0}));
  EXPECT_EQ(divided(Pooling::sqrtn, weights)[0], Value{5});
  EXPECT_EQ(divided(Pooling::sqrtn, weights)[5], Value{12});
  EXPECT_EQ(divided(Pooling::sum, weights), (std::vector<Value>{10, 20, 30, 40, 50, 60, 70, 80}));
  EXPECT_EQ(divided(Pooling::none, {})[3], Value{40});
}

TYPED_TEST(BagDivisorTest, EqualsTheReferenceAndLeavesOtherBagsAlone) {
  using Value = TypeParam;
  const Space exec;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    Random random(seed);
    HostBags bags;
    std::vector<BagVectors> blocks;
    std::int64_t size = 0;
    for (const std::int64_t dim : {1, 3, 16, 17, 128}) {
      const std::int64_t count = draw(random, 0, 9);
      const auto pooling = poolings[at(draw(random, 0, 3))].value;
      if (draw(random, 0, 2) > 0) blocks.push_back({bags.bags(), count, dim, size, dim + 1, pooling});
      bags.add_random(random, count, 10, 4);
      size += count * (dim + 1);
    }
    if (seed % 2 == 0) bags.add_weights(random);
    std::vector<Value> values(at(size));
    for (auto& value : values) value = static_cast<Value>(draw(random, -1000, 1000));
    const auto vectors = array_of(exec, values, "vectors");
    divide_by_bag(exec, array_of(exec, blocks, "blocks"), array_of(exec, bags.offsets, "offsets"),
                  array_of(exec, bags.weights, "weights"), vectors);
    for (const auto& block : blocks)
      for (std::int64_t bag = 0; bag < block.bags; ++bag) {
        const auto begin = bags.offsets[at(block.first_bag + bag)];
        const auto count = bags.size(block.first_bag + bag);
        const auto weights = bags.weights.empty() ? std::span<const float>()
                                                  : std::span<const float>(bags.weights).subspan(at(begin), at(count));
        const double divisor = reference::bag_divisor(block.pooling, count, weights);
        for (std::int64_t d = 0; d < block.dim; ++d) {
          auto& value = values[at(block.begin + bag * block.stride + d)];
          value = divisor == 0 ? Value{0} : static_cast<Value>(static_cast<double>(value) / divisor);
        }
      }
    EXPECT_EQ(host(vectors), values);
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
