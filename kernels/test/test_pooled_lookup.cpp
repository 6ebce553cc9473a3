// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "kernels/lookup/pooled_lookup.hpp"
#include "kernels/test/host_table.hpp"
#include "reference/pooled_lookup.hpp"

namespace shardmark::kernels::test {
namespace {

constexpr float untouched = -12345.0F;

/// Shards of many dims, value types and poolings, and the bags that read them, all for one launch.
template <class Types>
struct Lookup {
  using Exec = typename Types::Exec;
  using Index = typename Types::Index;

  struct Part {
    std::int64_t rows, dim, bags;
    Pooling pooling;
    ValueType value_type = ValueType::fp32;
    std::int64_t skipped_bytes = 0;  ///< from an aligned address to the first row
  };

  Exec exec;
  RowValues values;
  HostBags bags;
  std::vector<HostTable> tables;
  std::vector<Array<Exec, char>> stored;
  std::vector<LookupBlock> blocks;
  std::int64_t output_size = 0;

  explicit Lookup(const RowValues& row_values) : values(row_values) {}

  /// Adds a block for the bags from `first_bag` on; its vectors lie `gap` elements apart, `gap` behind the last block.
  void add(const Part& part, std::int64_t first_bag, std::int64_t gap) {
    tables.emplace_back(part.value_type, part.rows, part.dim, values, std::ssize(tables));
    std::vector<char> bytes(at(part.skipped_bytes));
    bytes.insert(bytes.end(), tables.back().bytes.begin(), tables.back().bytes.end());
    stored.push_back(array_of(exec, bytes, "rows"));
    const std::int64_t stride = part.dim + gap;
    blocks.push_back({.first_bag = first_bag,
                      .bags = part.bags,
                      .rows = stored.back().data() + part.skipped_bytes,
                      .value_type = part.value_type,
                      .dim = part.dim,
                      .output = output_size,
                      .output_stride = stride,
                      .pooling = part.pooling});
    const std::int64_t ids = bags.offsets[at(first_bag + part.bags)] - bags.offsets[at(first_bag)];
    output_size += (part.pooling == Pooling::none ? ids : part.bags) * stride + gap;
  }

  std::vector<float> run() const {
    const auto output = array_of(exec, std::vector<float>(at(output_size), untouched), "output");
    pooled_lookup<Exec>(exec, array_of(exec, blocks, "blocks"), array_of(exec, bags.offsets, "offsets"),
                        array_of(exec, converted<Index>(bags.indices), "indices"),
                        array_of(exec, bags.weights, "weights"), output);
    return host(output);
  }

  /// The reference, and for each value sum |w x| / divisor: what its rounding error scales with.
  std::vector<float> expected(bool magnitudes) const {
    std::vector<float> output(at(output_size), untouched);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const auto& block = blocks[b];
      const auto row_of = [&](std::int64_t id) {
        const auto row = tables[b].row(id);
        std::vector<float> copy(row.begin(), row.end());
        if (magnitudes)
          for (auto& value : copy) value = std::abs(value);
        return copy;
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

/// All dims, each with every pooling and value type in turn over the seeds, blocks without bags among them, and some
/// whose bags have one id each.
template <class Types>
Lookup<Types> random_lookup(const RowValues& values, std::uint64_t seed, std::span<const ValueType> types,
                            bool weighted, bool positive_weights = false) {
  Random random(seed);
  Lookup<Types> lookup(values);
  auto pooling = static_cast<std::size_t>(seed);
  auto type = static_cast<std::size_t>(seed / poolings.size());
  for (const std::int64_t dim : {1, 3, 4, 5, 7, 8, 12, 16, 17, 32, 64, 100, 128, 130, 200, 256, 300}) {
    const std::int64_t rows = draw(random, 1, 50);
    const std::int64_t bags = dim == 12 ? 0 : draw(random, 1, 40);
    const std::int64_t first_bag = lookup.bags.bags();
    if (draw(random, 0, 2) == 0)
      for (std::int64_t bag = 0; bag < bags; ++bag) lookup.bags.add({draw(random, 0, rows - 1)});
    else
      lookup.bags.add_random(random, bags, rows, draw(random, 0, 12));
    lookup.add({rows, dim, bags, poolings[pooling++ % poolings.size()].value, types[type++ % types.size()]}, first_bag,
               draw(random, 0, 3));
  }
  if (weighted) lookup.bags.add_weights(random);
  if (positive_weights)
    for (auto& weight : lookup.bags.weights) weight = std::abs(weight) + 0.1F;
  return lookup;
}

constexpr std::array exact_types{ValueType::fp32, ValueType::fp16, ValueType::bf16};
constexpr std::array all_types{ValueType::fp32, ValueType::int8, ValueType::fp16, ValueType::bf16};

template <class Types>
class PooledLookupTest : public testing::Test {};
TYPED_TEST_SUITE(PooledLookupTest, IndexTypes);

TYPED_TEST(PooledLookupTest, GivesHandComputedSums) {
  Lookup<TypeParam> lookup({});
  lookup.bags.offsets = {0, 2, 2, 6, 7};
  lookup.bags.indices = {0, 1, 1, 1, 0, 0, 1};
  lookup.bags.weights = {1, 2, 1, 1, -1, -1, 0.5F};
  const auto rows = array_of(lookup.exec, std::vector<float>{1, 2, 10, 20}, "rows");
  const auto output_of = [&](Pooling pooling) {
    lookup.blocks = {{0, 4, rows.data(), ValueType::fp32, 2, 0, 2, pooling}};
    lookup.output_size = pooling == Pooling::none ? 14 : 8;
    return lookup.run();
  };
  EXPECT_EQ(output_of(Pooling::sum), (std::vector<float>{21, 42, 0, 0, 18, 36, 5, 10}));
  EXPECT_EQ(output_of(Pooling::mean), (std::vector<float>{7, 14, 0, 0, 0, 0, 10, 20}));
  EXPECT_EQ(output_of(Pooling::sqrtn)[4], 9.0F);
  EXPECT_EQ(output_of(Pooling::none), (std::vector<float>{1, 2, 20, 40, 10, 20, 10, 20, -1, -2, -1, -2, 5, 10}));
  EXPECT_EQ(output_of(Pooling::max), (std::vector<float>{20, 40, 0, 0, 10, 20, 5, 10}));
  lookup.bags.weights = {};
  EXPECT_EQ(output_of(Pooling::mean), (std::vector<float>{5.5, 11, 0, 0, 5.5, 11, 10, 20}));
}

TYPED_TEST(PooledLookupTest, EqualsTheReferenceBitForBitOnExactValues) {
  for (std::uint64_t seed = 0; seed < 15; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    const auto lookup = random_lookup<TypeParam>({.seed = seed, .unit = 0x1p-6F}, seed, exact_types, seed % 4 != 0);
    const auto expected = lookup.expected(false);
    const auto output = lookup.run();
    for (std::size_t i = 0; i < output.size(); ++i) ASSERT_EQ(output[i], expected[i]) << "at element " << i;
  }
}

TYPED_TEST(PooledLookupTest, StaysWithinTheRoundingBoundOnAnyValues) {
  for (std::uint64_t seed = 20; seed < 40; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    const auto lookup = random_lookup<TypeParam>({.seed = seed}, seed, all_types, seed % 2 == 0, true);
    const auto expected = lookup.expected(false);
    const auto magnitude = lookup.expected(true);
    const auto output = lookup.run();
    constexpr double terms = 24 + 4;  // at most 24 ids a bag; the product, the divisor and the last rounding
    for (std::size_t i = 0; i < output.size(); ++i)
      ASSERT_NEAR(static_cast<double>(output[i]), expected[i], terms * 0x1p-24 * std::abs(magnitude[i]))
          << "at element " << i;
  }
}

TYPED_TEST(PooledLookupTest, MaximaAreThoseOfTheReferenceOnAnyValues) {
  for (const auto& type : value_types) {
    SCOPED_TRACE(type.name);
    Lookup<TypeParam> lookup({.seed = 7});
    Random random(7);
    for (const std::int64_t dim : {1, 8, 16, 33, 64, 130}) {
      const std::int64_t first_bag = lookup.bags.bags();
      lookup.bags.add_random(random, 30, 20, 4);
      lookup.add({20, dim, 30, Pooling::max, type.value}, first_bag, 1);
    }
    EXPECT_EQ(lookup.run(), lookup.expected(false));
    lookup.bags.add_weights(random);
    EXPECT_EQ(lookup.run(), lookup.expected(false));
  }
}

/// Outputs large enough to be written past the caches, where they are whole lines and where they are not.
TYPED_TEST(PooledLookupTest, WritesLargeOutputsToo) {
  for (const std::int64_t gap : {0, 16, 3}) {
    Lookup<TypeParam> lookup({.seed = 8, .unit = 0x1p-6F});
    Random random(8);
    for (const std::int64_t dim : {16, 40, 64}) {
      const std::int64_t first_bag = lookup.bags.bags();
      lookup.bags.add_random(random, 12000, 1000, 1);
      lookup.add({1000, dim, 12000, Pooling::sum, ValueType::bf16}, first_bag, gap);
    }
    EXPECT_EQ(lookup.run(), lookup.expected(false)) << "gap " << gap;
  }
}

/// Rows that begin at no multiple of four values.
TYPED_TEST(PooledLookupTest, ReadsUnalignedRows) {
  for (const auto& type : value_types) {
    SCOPED_TRACE(type.name);
    const bool exact = type.value != ValueType::int8;
    Lookup<TypeParam> lookup({.seed = 9, .unit = exact ? 0x1p-6F : 0.0F});
    Random random(9);
    for (const std::int64_t dim : {4, 16, 64, 128, 136}) {
      const std::int64_t first_bag = lookup.bags.bags();
      lookup.bags.add_random(random, 40, 30, 1);
      lookup.add({30, dim, 40, exact ? Pooling::sum : Pooling::max, type.value, 4}, first_bag, 0);
    }
    EXPECT_EQ(lookup.run(), lookup.expected(false));
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
  for (std::uint64_t seed = 40; seed < 44; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    auto lookup = random_lookup<Int64Ids>({.seed = seed}, seed, all_types, true, true);
    const auto by_all = lookup.run();
    lookup.exec = half_of_the_threads();
    EXPECT_EQ(lookup.run(), by_all);
  }
}

TEST(PooledLookup, BalancesOneHugeBagAmongSmallOnes) {
  Lookup<Int64Ids> lookup({.seed = 3, .unit = 0x1p-6F});
  Random random(3);
  lookup.bags.add_random(random, 3000, 1000, 1);
  lookup.bags.add(std::vector<std::int64_t>(20000, 999));
  lookup.bags.add_random(random, 3000, 1000, 1);
  lookup.add({1000, 16, 6001, Pooling::sum}, 0, 0);
  EXPECT_EQ(lookup.run(), lookup.expected(false));
}

}  // namespace
}  // namespace shardmark::kernels::test
