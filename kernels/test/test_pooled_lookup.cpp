// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "kernels/fill_rows.hpp"
#include "kernels/pooled_lookup.hpp"
#include "kernels/test/bags.hpp"
#include "reference/pooled_lookup.hpp"
#include "reference/row_values.hpp"

namespace shardmark::kernels::test {
namespace {

constexpr float untouched = -12345.0F;

/// Shards of many dims and poolings, and the bags that read them, all for one launch.
template <class Types>
struct Lookup {
  using Exec = typename Types::Exec;
  using Value = typename Types::Value;
  using Index = typename Types::Index;

  struct Part {
    std::int64_t rows, dim, bags;
    Pooling pooling;
  };

  Exec exec;
  RowValues values;
  HostBags bags;
  std::vector<Part> parts;
  std::vector<Array<Exec, Value>> tables;
  std::vector<LookupBlock<Value>> blocks;
  std::int64_t output_size = 0;

  explicit Lookup(const RowValues& row_values) : values(row_values) {}

  /// Adds a block for the bags from `first_bag` on; its vectors lie `gap` elements apart, `gap` behind the last block.
  void add(const Part& part, std::int64_t first_bag, std::int64_t gap) {
    const auto table = std::ssize(tables);
    tables.emplace_back("rows", at(part.rows * part.dim));
    fill_rows(exec, values, ShardRows{.table = table, .count = part.rows, .dim = part.dim}, tables.back().data());
    const std::int64_t stride = part.dim + gap;
    blocks.push_back({first_bag, part.bags, tables.back().data(), part.dim, output_size, stride, part.pooling});
    const std::int64_t ids = bags.offsets[at(first_bag + part.bags)] - bags.offsets[at(first_bag)];
    output_size += (part.pooling == Pooling::none ? ids : part.bags) * stride + gap;
    parts.push_back(part);
  }

  std::vector<Value> run() const {
    const auto output = array_of(exec, std::vector<Value>(at(output_size), untouched), "output");
    pooled_lookup(exec, array_of(exec, blocks, "blocks"), array_of(exec, bags.offsets, "offsets"),
                  array_of(exec, converted<Index>(bags.indices), "indices"), array_of(exec, bags.weights, "weights"),
                  output);
    return host(output);
  }

  /// The reference, and for each value sum |w x| / divisor: what its rounding error scales with.
  std::vector<float> expected(bool magnitudes) const {
    std::vector<float> output(at(output_size), untouched);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const auto& block = blocks[b];
      const auto row_of = [&](std::int64_t id) {
        std::vector<float> row(at(block.dim));
        for (std::int64_t c = 0; c < block.dim; ++c)
          row[at(c)] = magnitudes ? std::abs(values(static_cast<std::int64_t>(b), id, c))
                                  : values(static_cast<std::int64_t>(b), id, c);
        return row;
      };
      const std::int64_t begin = bags.offsets[at(block.first_bag)];
      std::vector<std::int64_t> offsets;
      for (std::int64_t bag = 0; bag <= block.bags; ++bag)
        offsets.push_back(bags.offsets[at(block.first_bag + bag)] - begin);
      const auto indices = std::span(bags.indices).subspan(at(begin), at(offsets.back()));
      auto weights = bags.weights;
      if (magnitudes)
        for (auto& weight : weights) weight = std::abs(weight);
      const auto block_weights = weights.empty() ? std::span<const float>()
                                                 : std::span<const float>(weights).subspan(at(begin), indices.size());
      const std::int64_t vectors = block.pooling == Pooling::none ? std::ssize(indices) : block.bags;
      std::vector<float> dense(at(vectors * block.dim));
      reference::pooled_lookup(block.pooling, row_of, offsets, indices, block_weights, block.dim, dense);
      for (std::int64_t v = 0; v < vectors; ++v)
        std::copy_n(dense.begin() + v * block.dim, block.dim, output.begin() + block.output + v * block.output_stride);
    }
    return output;
  }
};

/// All dims, each with every pooling in turn over the seeds, blocks without bags among them.
template <class Types>
Lookup<Types> random_lookup(const RowValues& values, std::uint64_t seed, bool weighted, bool positive_weights = false) {
  Random random(seed);
  Lookup<Types> lookup(values);
  auto pooling = static_cast<std::size_t>(seed);
  for (const std::int64_t dim : {1, 3, 4, 8, 16, 17, 32, 64, 128, 200, 256, 300}) {
    const std::int64_t rows = draw(random, 1, 50);
    const std::int64_t bags = dim == 8 ? 0 : draw(random, 1, 40);
    const std::int64_t first_bag = lookup.bags.bags();
    lookup.bags.add_random(random, bags, rows, draw(random, 0, 12));
    lookup.add({rows, dim, bags, poolings[pooling++ % poolings.size()].value}, first_bag, draw(random, 0, 3));
  }
  if (weighted) lookup.bags.add_weights(random);
  if (positive_weights)
    for (auto& weight : lookup.bags.weights) weight = std::abs(weight) + 0.1F;
  return lookup;
}

template <class Types>
class PooledLookupTest : public testing::Test {};
TYPED_TEST_SUITE(PooledLookupTest, AllTypes);

TYPED_TEST(PooledLookupTest, GivesHandComputedSums) {
  using Value = typename TypeParam::Value;
  Lookup<TypeParam> lookup({});
  for (const std::vector<std::int64_t>& ids : {std::vector<std::int64_t>{0, 1}, {}, {1, 1, 0, 0}, {1}})
    lookup.bags.add(ids);
  lookup.bags.weights = {1, 2, 1, 1, -1, -1, 0.5F};
  const auto rows = array_of(lookup.exec, std::vector<Value>{1, 2, 10, 20}, "rows");
  const auto output_of = [&](Pooling pooling) {
    lookup.blocks = {{0, 4, rows.data(), 2, 0, 2, pooling}};
    lookup.output_size = pooling == Pooling::none ? 14 : 8;
    return lookup.run();
  };
  EXPECT_EQ(output_of(Pooling::sum), (std::vector<Value>{21, 42, 0, 0, 18, 36, 5, 10}));
  EXPECT_EQ(output_of(Pooling::mean), (std::vector<Value>{7, 14, 0, 0, 0, 0, 10, 20}));
  EXPECT_EQ(output_of(Pooling::sqrtn)[4], Value{9});
  EXPECT_EQ(output_of(Pooling::none), (std::vector<Value>{1, 2, 20, 40, 10, 20, 10, 20, -1, -2, -1, -2, 5, 10}));
  lookup.bags.weights = {};
  EXPECT_EQ(output_of(Pooling::mean), (std::vector<Value>{5.5, 11, 0, 0, 5.5, 11, 10, 20}));
}

TYPED_TEST(PooledLookupTest, EqualsTheReferenceBitForBitOnExactValues) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    const auto lookup = random_lookup<TypeParam>({.seed = seed, .unit = 0x1p-6F}, seed, seed % 3 != 0);
    const auto expected = lookup.expected(false);
    const auto output = lookup.run();
    for (std::size_t i = 0; i < output.size(); ++i)
      ASSERT_EQ(static_cast<float>(output[i]), expected[i]) << "at element " << i;
  }
}

TYPED_TEST(PooledLookupTest, StaysWithinTheRoundingBoundOnAnyValues) {
  for (std::uint64_t seed = 20; seed < 26; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    const auto lookup = random_lookup<TypeParam>({.seed = seed}, seed, seed % 2 == 0, true);
    const auto expected = lookup.expected(false);
    const auto magnitude = lookup.expected(true);
    const auto output = lookup.run();
    constexpr double terms = 24 + 4;  // at most 24 ids a bag; the product, the divisor and the last rounding
    for (std::size_t i = 0; i < output.size(); ++i)
      ASSERT_NEAR(static_cast<double>(output[i]), expected[i], terms * 0x1p-24 * std::abs(magnitude[i]))
          << "at element " << i;
  }
}

TYPED_TEST(PooledLookupTest, TakesNoBagsAndOnlyEmptyBags) {
  Lookup<TypeParam> none({});
  EXPECT_TRUE(none.run().empty());
  Lookup<TypeParam> empty({});
  for (int bag = 0; bag < 5; ++bag) empty.bags.add({});
  empty.add({1, 16, 5, Pooling::mean}, 0, 0);
  for (const auto value : empty.run()) EXPECT_EQ(value, 0);
}

TEST(PooledLookup, HasTheSameBitsForAnyNumberOfThreads) {
  using Alone = Types<Kokkos::Serial, std::int64_t, float>;
  using Together = Types<Kokkos::DefaultHostExecutionSpace, std::int64_t, float>;
  for (std::uint64_t seed = 40; seed < 44; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    EXPECT_EQ(random_lookup<Alone>({.seed = seed}, seed, true, true).run(),
              random_lookup<Together>({.seed = seed}, seed, true, true).run());
  }
}

TEST(PooledLookup, BalancesOneHugeBagAmongSmallOnes) {
  using Host = Types<Kokkos::DefaultHostExecutionSpace, std::int64_t, float>;
  Lookup<Host> lookup({.seed = 3, .unit = 0x1p-6F});
  Random random(3);
  lookup.bags.add_random(random, 3000, 1000, 1);
  lookup.bags.add(std::vector<std::int64_t>(20000, 999));
  lookup.bags.add_random(random, 3000, 1000, 1);
  lookup.add({1000, 16, 6001, Pooling::sum}, 0, 0);
  EXPECT_EQ(lookup.run(), lookup.expected(false));
}

}  // namespace
}  // namespace shardmark::kernels::test
