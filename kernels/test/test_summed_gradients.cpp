// SPDX-License-Identifier: Apache-2.0
#include "kernels/test/update_problem.hpp"
#include "kernels/update/summed_gradients.hpp"

namespace shardmark::kernels::test {
namespace {

template <class Types>
class SummedGradientsTest : public testing::Test {};
TYPED_TEST_SUITE(SummedGradientsTest, IndexTypes);

/// Weighted bags of shards of several dims, one of them with a row of several pieces. Gradients whose sums are exact.
TYPED_TEST(SummedGradientsTest, AreThoseOfTheSameRowsEachWithOneVector) {
  Random random(70);
  UpdateProblem problem{.values = {.seed = 70}};
  for (const std::int64_t dim : {4, 8, 23, 300}) {
    const bool hot = dim == 8;
    const auto shard = problem.add_shard(hot ? 1 : draw(random, 1, 60), dim, {});
    const auto first_bag = problem.bags.bags();
    problem.bags.add_random(random, hot ? 3000 : 10, problem.shards[at(shard)].rows, 3);
    problem.add_block(random, shard, first_bag, Pooling::sum, true, 1);
  }
  std::vector<GradientShard> shards;
  for (const auto& shard : problem.shards) shards.push_back({shard.first_key, shard.dim});
  const std::int64_t key_bound = problem.shards.back().first_key + problem.shards.back().rows;

  using Exec = typename TypeParam::Exec;
  Update<TypeParam> update(problem);
  SummedGradientsWorkspace<Exec> workspace;
  const auto summed = summed_gradients<Exec>(update.exec, update.gradients(problem), key_bound,
                                             shard_list(update.exec, shards), workspace);
  const auto expected = problem.row_gradients(false);
  const std::int64_t rows = host_count(update.exec, summed.unique);
  ASSERT_EQ(rows, std::ssize(expected));
  const auto words = host(summed.unique.words);
  const auto segments = host(summed.unique.segments);
  const auto vectors = host(summed.gradients);
  std::size_t u = 0;
  for (const auto& [key, sums] : expected) {
    ASSERT_EQ(segments[u], static_cast<std::int64_t>(u));
    ASSERT_EQ(static_cast<std::int64_t>(words[u] >> summed.unique.position_bits), key);
    const auto begin = words[u] & ((std::uint64_t{1} << summed.unique.position_bits) - 1);
    for (std::size_t c = 0; c < sums.size(); ++c)
      ASSERT_EQ(vectors[begin + c], static_cast<float>(sums[c])) << "row " << key << " column " << c;
    ++u;
  }
  EXPECT_EQ(segments[u], rows);
}

}  // namespace
}  // namespace shardmark::kernels::test
