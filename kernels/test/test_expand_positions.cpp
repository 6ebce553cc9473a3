// SPDX-License-Identifier: Apache-2.0
#include "kernels/route/expand_positions.hpp"
#include "kernels/test/bags.hpp"

namespace shardmark::kernels::test {
namespace {

constexpr std::int64_t not_expanded = -7;

template <class Types>
class ExpandPositionsTest : public testing::Test {};
TYPED_TEST_SUITE(ExpandPositionsTest, IndexTypes);

struct Expanded {
  std::vector<std::int64_t> keys, gradient_offset;
  bool operator==(const Expanded&) const = default;
};

/// Position after position, bag after bag, block after block.
Expanded expected(const std::vector<GradientBlock>& blocks, const HostBags& bags, const LaterBags& from) {
  const std::vector<std::int64_t> none(bags.indices.size(), not_expanded);
  Expanded result{none, none};
  for (const auto& block : blocks)
    for (std::int64_t bag = std::max(block.first_bag, from.bag); bag < block.first_bag + block.bags; ++bag)
      for (std::int64_t i = bags.offsets[at(bag)]; i < bags.offsets[at(bag + 1)]; ++i) {
        const std::int64_t vector = block.pooling == Pooling::max    ? i
                                    : block.pooling == Pooling::none ? i - bags.offsets[at(block.first_bag)]
                                                                     : bag - block.first_bag;
        result.keys[at(i)] = block.first_key + bags.indices[at(i)];
        result.gradient_offset[at(i)] = block.gradient + vector * block.gradient_stride;
      }
  return result;
}

/// Blocks of all poolings, of no bags and of many, whose bags are empty, of one id, of a few or of many.
TYPED_TEST(ExpandPositionsTest, EqualsTheDefinition) {
  using Exec = typename TypeParam::Exec;
  const Exec exec;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    Random random(seed);
    HostBags bags;
    std::vector<GradientBlock> blocks;
    for (std::int64_t b = 0; b < 8; ++b) {
      const std::int64_t count = draw(random, 0, b % 2 == 0 ? 40 : 700), hotness = draw(random, 0, 3);
      blocks.push_back({bags.bags(), count, 1000 * b, draw(random, 0, 99), draw(random, 1, 20),
                        poolings[at(draw(random, 0, std::ssize(poolings) - 1))].value});
      bags.add_random(random, count, 100, hotness);
      if (b == 5 && count > 0) {
        bags.add(std::vector<std::int64_t>(3000, 99));
        ++blocks.back().bags;
      }
    }
    LaterBags from;
    if (seed % 2 == 1) from.bag = draw(random, 0, bags.bags());
    from.position = bags.offsets[at(from.bag)];
    const std::vector<std::int64_t> none(bags.indices.size(), not_expanded);
    const auto keys = array_of(exec, none, "keys"), gradient_offset = array_of(exec, none, "gradient_offset");
    const auto indices = array_of(exec, converted<typename TypeParam::Index>(bags.indices), "indices");
    expand_positions(exec, ConstArray<Exec, GradientBlock>(array_of(exec, blocks, "blocks")),
                     ConstArray<Exec, std::int64_t>(array_of(exec, bags.offsets, "offsets")), indices, keys,
                     gradient_offset, from);
    EXPECT_EQ((Expanded{host(keys), host(gradient_offset)}), expected(blocks, bags, from));
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
