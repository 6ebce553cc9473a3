// SPDX-License-Identifier: Apache-2.0
#include "kernels/shard_sort.hpp"
#include "kernels/test/update_problem.hpp"

namespace shardmark::kernels::test {
namespace {

/// Two sources with bags of no, one and several ids in shards of few and of many rows, one of them without ids, given
/// in the order (source, shard).
struct SortProblem {
  std::vector<GradientBlock> blocks, by_shard;
  std::vector<ShardBlocks> shards;
  std::vector<std::int64_t> offsets{0}, indices;
  std::int64_t key_bound = 0, position_bound = 0;

  explicit SortProblem(std::uint64_t seed) {
    Random random(seed);
    for (const std::int64_t rows : {3, 1, 5000, 40, 30'000'000}) {
      shards.push_back({.first_key = key_bound, .rows = rows});
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
                        .gradient = position_bound,
                        .gradient_stride = 8};
    for (std::int64_t bag = 0; bag < block.bags; ++bag) {
      const std::int64_t ids = shard.rows == 40 ? 0 : draw(random, 0, 2);
      for (std::int64_t i = 0; i < ids; ++i) indices.push_back(draw(random, 0, shard.rows - 1));
      offsets.push_back(std::ssize(indices));
    }
    position_bound += 8 * block.bags;
    blocks.push_back(block);
  }
};

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
    const auto expected = unique_rows<Exec>(exec, keys, problem.key_bound, places, problem.position_bound, of_all);
    UniqueRowsWorkspace<Exec> workspace;
    const auto got =
        sort_shards<Exec>(exec, array_of(exec, problem.shards, "shards"), array_of(exec, problem.by_shard, "blocks"),
                          offsets, indices, ids, problem.key_bound, problem.position_bound, workspace);
    EXPECT_EQ(got.position_bits, expected.position_bits);
    EXPECT_EQ(host(got.words), host(expected.words));
    const std::int64_t rows = host_count(exec, expected);
    ASSERT_EQ(host_count(exec, got), rows);
    const auto begins = host(got.segments), expected_begins = host(expected.segments);
    for (std::int64_t u = 0; u <= rows; ++u) ASSERT_EQ(begins[at(u)], expected_begins[at(u)]);
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
