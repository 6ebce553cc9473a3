// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/bench/hash_unique_rows.hpp"
#include "kernels/test/update_problem.hpp"
#include "kernels/update/scatter_sgd.hpp"

namespace shardmark::kernels::test {
namespace {

TEST(UnorderedUpdate, HashFindsTheRowsAndPositionsOfTheSort) {
  const Space exec;
  UniqueRowsWorkspace<Space> sort;
  bench::HashUniqueRowsWorkspace<Space> hash;
  std::uint64_t seed = 0;
  for (const std::int64_t bound : {std::int64_t{1}, std::int64_t{3}, std::int64_t{2000}, std::int64_t{1} << 40})
    for (const std::int64_t n : {0, 1, 2, 1000, 50000}) {
      SCOPED_TRACE(seed_line(++seed) + ", bound " + std::to_string(bound) + ", n " + std::to_string(n));
      Random random(seed);
      std::vector<std::int64_t> values(at(n));
      for (auto& key : values) key = draw(random, 0, bound - 1);
      const auto keys = array_of(exec, values, "keys");
      const auto want = unique_rows<Space>(exec, keys, bound, sort);
      const auto got = bench::hash_unique_rows<Space>(exec, keys, bound, hash);
      const auto count = host_count(exec, want);
      ASSERT_EQ(host_count(exec, got), count);
      const auto segments = host(want.segments), got_segments = host(got.segments);
      ASSERT_TRUE(std::equal(segments.begin(), segments.begin() + count + 1, got_segments.begin()));
      auto words = host(got.words);
      for (std::int64_t u = 0; u < count; ++u)
        std::sort(words.begin() + segments[at(u)], words.begin() + segments[at(u + 1)]);
      EXPECT_EQ(words, host(want.words));
    }
}

/// Tables of all block sizes, one with a row that many threads want at once.
UpdateProblem sgd_problem(std::uint64_t seed, bool exact) {
  Random random(seed);
  UpdateProblem problem{.values = {.seed = seed, .unit = exact ? 0x1p-6F : 0}};
  for (const std::int64_t dim : {1, 7, 16, 32, 64, 100, 128}) {
    const auto shard = problem.add_shard(dim == 16 ? 2 : draw(random, 1, 500), dim, {.learning_rate = 0.25F});
    const auto first_bag = problem.bags.bags();
    problem.bags.add_random(random, dim == 16 ? 3000 : 300, problem.shards[at(shard)].rows, 4);
    problem.add_block(random, shard, first_bag, Pooling::sum, exact, 0);
  }
  if (seed % 2 == 1) problem.bags.add_weights(random);
  return problem;
}

void run_scatter(Update<Int64Ids>& update, const UpdateProblem& problem) {
  using Exec = Space;
  const Array<Exec, std::int64_t> keys("keys", problem.bags.indices.size());
  const Array<Exec, std::int64_t> offset("gradient_offset", problem.bags.indices.size());
  expand_positions(update.exec, array_of(update.exec, problem.blocks, "blocks"),
                   array_of(update.exec, problem.bags.offsets, "offsets"),
                   array_of(update.exec, problem.bags.indices, "indices"), keys, offset);
  ScatterWorkspace<Exec> workspace;
  scatter_sgd<Exec>(update.exec, keys, offset, array_of(update.exec, problem.bags.weights, "weights"),
                    array_of(update.exec, problem.gradients, "gradients"), update.list(), workspace);
  update.exec.fence();
}

TEST(UnorderedUpdate, ScatteredSgdEqualsTheOrderedOneOnExactValues) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    const auto problem = sgd_problem(seed, true);
    Update<Int64Ids> ordered(problem);
    ordered.run(problem);
    Update<Int64Ids> scattered(problem);
    run_scatter(scattered, problem);
    EXPECT_EQ(scattered.row_bits(), ordered.row_bits());
  }
}

/// n terms that are added to w one by one are off by n u (|w| + sum |lr w g|) at most.
TEST(UnorderedUpdate, ScatteredSgdStaysWithinTheBoundOfAnyOrder) {
  for (std::uint64_t seed = 10; seed < 14; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    const auto problem = sgd_problem(seed, false);
    Update<Int64Ids> scattered(problem);
    run_scatter(scattered, problem);
    std::map<std::int64_t, double> terms;
    for (const auto& block : problem.blocks)
      for (auto i = problem.bags.offsets[at(block.first_bag)];
           i < problem.bags.offsets[at(block.first_bag + block.bags)]; ++i)
        ++terms[block.first_key + problem.bags.indices[at(i)]];
    const auto magnitudes = problem.row_gradients(true);
    for (const auto& [key, gradient] : problem.row_gradients(false)) {
      const auto s = static_cast<std::size_t>(&problem.shard_of(key) - problem.shards.data());
      const auto& shard = problem.shards[s];
      const std::int64_t row = key - shard.first_key;
      const auto values = scattered.values(s);
      for (std::int64_t c = 0; c < shard.dim; ++c) {
        const double before = problem.values(static_cast<std::int64_t>(s), row, c);
        const double bound = (terms[key] + 2) * 0x1p-24 * (std::abs(before) + 0.25 * magnitudes.at(key)[at(c)]);
        ASSERT_NEAR(values[at(row * shard.dim + c)], before - 0.25 * gradient[at(c)], bound);
      }
    }
  }
}

TEST(CanScatter, PlainSgdOfFp32Only) {
  EXPECT_TRUE(can_scatter({}));
  EXPECT_FALSE(can_scatter({.optimizer = {.weight_decay = 0.1F}}));
  EXPECT_FALSE(can_scatter({.optimizer = {.kind = OptimizerKind::adam}}));
  EXPECT_FALSE(can_scatter({.value_type = ValueType::bf16}));
}

}  // namespace
}  // namespace shardmark::kernels::test
