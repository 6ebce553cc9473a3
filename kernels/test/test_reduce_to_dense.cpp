// SPDX-License-Identifier: Apache-2.0
#include "kernels/test/update_problem.hpp"
#include "kernels/update/stored_gradients.hpp"

namespace shardmark::kernels::test {
namespace {

/// Every optimizer; rows that no id names keep values and state, so both ways give the same bits.
TEST(ReduceToDense, DenseGradientAndUpdateEqualTheSparseOnes) {
  for (std::uint64_t seed = 40; seed < 44; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    Random random(seed);
    UpdateProblem problem{.values = {.seed = seed}};
    std::vector<DenseShard> dense_shards;
    std::int64_t size = 0;
    for (std::size_t number = 0; number < 3 * optimizers.size(); ++number) {
      const auto shard = problem.add_shard(draw(random, 1, 60), draw(random, 1, 300), any_optimizer(number));
      const auto& [rows, dim, first_key, optimizer, type, stochastic] = problem.shards[at(shard)];
      const auto first_bag = problem.bags.bags();
      problem.bags.add_random(random, 10, rows, 3);
      problem.add_block(random, shard, first_bag, Pooling::sum, false, 0);
      dense_shards.push_back({first_key, dim, size});
      size += rows * dim;
    }
    Update<Int64Ids> sparse(problem);
    sparse.run(problem);
    Update<Int64Ids> update(problem);
    const auto list = shard_list(update.exec, dense_shards);
    const Array<Space, float> dense("dense", at(size)), touched("touched", at(problem.keys));
    const auto gradients = update.gradients(problem);
    reduce_to_dense(update.exec, gradients, list, update.workspace, dense, touched);
    UniqueRowsWorkspace<Space> workspace;
    const auto rows = touched_rows<Space>(update.exec, touched, list, size, workspace);
    EXPECT_EQ(host_count(update.exec, rows), host_count(update.exec, gradients.unique));
    const RowGradients<Space> all{rows, {}, {}, dense};
    fused_update(update.exec, all, update.list(), UpdateStep{1, 77}, update.workspace);
    EXPECT_EQ(update.row_bits(), sparse.row_bits());
    EXPECT_EQ(update.state_bits(), sparse.state_bits());
  }
}

TEST(ReduceToDense, TouchedRowsAreThoseWithACount) {
  const Space exec;
  UniqueRowsWorkspace<Space> workspace;
  const auto shards = shard_list(exec, std::vector<DenseShard>{{.dim = 3}, {.first_key = 4, .dim = 8, .output = 12}});
  const auto touched = array_of(exec, std::vector<float>{0, 2, 0, 0, 1}, "touched");
  const auto rows = touched_rows<Space>(exec, touched, shards, 20, workspace);
  EXPECT_EQ(host_count(exec, rows), 2);
  const auto words = host(rows.words);
  EXPECT_EQ(words[0], rows.word(1, 3));
  EXPECT_EQ(words[1], rows.word(4, 12));
}

}  // namespace
}  // namespace shardmark::kernels::test
