// SPDX-License-Identifier: Apache-2.0
#include "kernels/sort/shard_sort.hpp"
#include "kernels/test/update_problem.hpp"
#include "kernels/update/summed_gradients.hpp"

namespace shardmark::kernels::test {
namespace {

/// Two sources with bags of no, one and several ids in shards of few and of many rows, one of them without ids, given
/// in the order (source, shard). Some gradients are 0, of either sign.
struct SortProblem {
  std::vector<GradientBlock> blocks, by_shard;
  std::vector<ShardBlocks> shards;
  std::vector<std::int64_t> offsets{0}, indices;
  std::vector<float> gradients;
  std::int64_t key_bound = 0;

  explicit SortProblem(std::uint64_t seed) {
    Random random(seed);
    for (const std::int64_t rows : {3, 1, 5000, 40, 700, 30'000'000}) {
      shards.push_back({.first_key = key_bound, .rows = rows, .dim = rows == 700 ? 20 : rows == 3 ? 16 : 8});
      key_bound += rows;
    }
    for (int source = 0; source < 2; ++source)
      for (const ShardBlocks& shard : shards) add_block(random, shard);
    for (ShardBlocks& shard : shards) {
      shard.first_block = std::ssize(by_shard);
      for (const GradientBlock& block : blocks)
        if (block.first_key == shard.first_key) by_shard.push_back(block);
      shard.blocks = std::ssize(by_shard) - shard.first_block;
    }
  }

  void add_block(Random& random, const ShardBlocks& shard) {
    GradientBlock block{.first_bag = std::ssize(offsets) - 1,
                        .bags = draw(random, 0, 3000),
                        .first_key = shard.first_key,
                        .gradient = std::ssize(gradients),
                        .gradient_stride = shard.dim};
    for (std::int64_t bag = 0; bag < block.bags; ++bag) {
      const std::int64_t ids = shard.rows == 40 ? 0 : draw(random, 0, 2);
      for (std::int64_t i = 0; i < ids; ++i) indices.push_back(draw(random, 0, shard.rows - 1));
      offsets.push_back(std::ssize(indices));
    }
    for (std::int64_t i = 0; i < shard.dim * block.bags; ++i) gradients.push_back(gradient(random));
    blocks.push_back(block);
  }

  static float gradient(Random& random) {
    const auto number = static_cast<float>(draw(random, -20, 20));
    return number < -18 ? -0.0F : number / 7.0F;
  }

  /// Room for the sums of all shards but the one of most rows, behind the gradients.
  void place_sums() {
    for (ShardBlocks& shard : shards) {
      if (shard.rows > 5000) continue;
      shard.sums = std::ssize(gradients);
      gradients.resize(gradients.size() + at(2 * shard.rows * shard.dim));
    }
  }

  /// By sort_shards: the distinct rows, and their gradients with `stride` elements for each.
  template <class Exec>
  RowGradients<Exec> run(const Exec& exec, UniqueRowsWorkspace<Exec>& workspace) const {
    const auto values = array_of(exec, gradients, "gradients");
    return {sort_shards<Exec>(exec, array_of(exec, shards, "shards"), array_of(exec, by_shard, "blocks"),
                              array_of(exec, offsets, "offsets"), array_of(exec, indices, "indices"),
                              std::ssize(indices), key_bound, values, workspace),
            {},
            {},
            values};
  }
};

/// Keys and gradients of the distinct rows.
template <class Exec>
std::pair<std::vector<std::int64_t>, std::vector<std::uint32_t>> summed(const Exec& exec, const SortProblem& problem) {
  UniqueRowsWorkspace<Exec> workspace;
  SummedGradientsWorkspace<Exec> sums;
  std::vector<GradientShard> shards;
  for (const ShardBlocks& shard : problem.shards) shards.push_back({shard.first_key, shard.dim});
  const auto rows = problem.run(exec, workspace);
  const auto list = shard_list(exec, shards);
  const auto all = summed_gradients<Exec>(exec, rows, problem.key_bound, list, sums);
  const auto words = host(all.unique.words);
  const auto values = host(all.gradients);
  std::vector<std::int64_t> keys;
  std::vector<std::uint32_t> bits;
  for (std::int64_t u = 0; u < host_count(exec, rows.unique); ++u) {
    keys.push_back(static_cast<std::int64_t>(words[at(u)] >> all.unique.position_bits));
    const auto after = std::ranges::upper_bound(shards, keys.back(), {}, &GradientShard::first_key);
    for (std::int64_t c = 0; c < (after - 1)->dim; ++c)
      bits.push_back(std::bit_cast<std::uint32_t>(values[at(u * list.largest_dim + c)]));
  }
  return {keys, bits};
}

template <class Types>
class ShardSortTest : public testing::Test {};
TYPED_TEST_SUITE(ShardSortTest, IndexTypes);

TYPED_TEST(ShardSortTest, GivesWhatTheSortOfAllExpandedPositionsGives) {
  using Exec = typename TypeParam::Exec;
  const Exec exec;
  for (std::uint64_t seed = 80; seed < 84; ++seed) {
    const SortProblem problem(seed);
    const std::int64_t ids = std::ssize(problem.indices);
    const ConstArray<Exec, std::int64_t> offsets = array_of(exec, problem.offsets, "offsets"),
                                         indices = array_of(exec, problem.indices, "indices");
    const Array<Exec, std::int64_t> keys("keys", at(ids)), places("places", at(ids));
    expand_positions(exec, ConstArray<Exec, GradientBlock>(array_of(exec, problem.blocks, "blocks")), offsets, indices,
                     keys, places);
    UniqueRowsWorkspace<Exec> of_all;
    const auto expected =
        unique_rows<Exec>(exec, keys, problem.key_bound, places, std::ssize(problem.gradients), of_all);
    UniqueRowsWorkspace<Exec> workspace;
    const auto got = problem.run(exec, workspace).unique;
    EXPECT_EQ(got.position_bits, expected.position_bits);
    EXPECT_EQ(host(got.words), host(expected.words));
    const std::int64_t rows = host_count(exec, expected);
    ASSERT_EQ(host_count(exec, got), rows);
    const auto begins = host(got.segments), expected_begins = host(expected.segments);
    for (std::int64_t u = 0; u <= rows; ++u) ASSERT_EQ(begins[at(u)], expected_begins[at(u)]);
  }
}

TYPED_TEST(ShardSortTest, AddsTheGradientsOfFewRowsWithTheBitsOfTheSort) {
  using Exec = typename TypeParam::Exec;
  const Exec exec;
  for (std::uint64_t seed = 84; seed < 88; ++seed) {
    SCOPED_TRACE(seed);
    SortProblem problem(seed);
    const auto sorted = summed(exec, problem);
    problem.place_sums();
    UniqueRowsWorkspace<Exec> workspace;
    EXPECT_LT(problem.run(exec, workspace).unique.positions(), std::ssize(problem.indices));
    const auto added = summed(exec, problem);
    EXPECT_EQ(added.first, sorted.first);
    EXPECT_EQ(added.second, sorted.second);
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
