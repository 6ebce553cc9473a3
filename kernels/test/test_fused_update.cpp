// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "kernels/expand_positions.hpp"
#include "kernels/fill_rows.hpp"
#include "kernels/fused_update.hpp"
#include "kernels/reduce_to_dense.hpp"
#include "kernels/row_square_sums.hpp"
#include "kernels/test/bags.hpp"
#include "reference/optimizer_step.hpp"
#include "reference/row_values.hpp"

namespace shardmark::kernels::test {
namespace {

/// Shards of a rank, the bags it received and the gradients that came home for them.
struct Problem {
  struct Shard {
    std::int64_t rows, dim, first_key;
    Optimizer optimizer;
  };

  RowValues values{};
  HostBags bags{};
  std::vector<Shard> shards{};
  std::vector<GradientBlock> blocks{};
  std::vector<float> gradients{};
  std::int64_t keys = 0;

  std::int64_t add_shard(std::int64_t rows, std::int64_t dim, const Optimizer& optimizer) {
    shards.push_back({rows, dim, keys, optimizer});
    keys += rows;
    return std::ssize(shards) - 1;
  }

  /// Bags [first_bag, bags()) of one shard, their gradients `gap` elements apart. Exact: multiples of 2^-6.
  void add_block(Random& random, std::int64_t shard, std::int64_t first_bag, Pooling pooling, bool exact,
                 std::int64_t gap) {
    const auto& [rows, dim, first_key, optimizer] = shards[at(shard)];
    const std::int64_t count = bags.bags() - first_bag;
    const std::int64_t ids = bags.offsets.back() - bags.offsets[at(first_bag)];
    blocks.push_back({first_bag, count, first_key, std::ssize(gradients), dim + gap, pooling});
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < (pooling == Pooling::none ? ids : count) * (dim + gap); ++i)
      gradients.push_back(exact ? 0x1p-6F * static_cast<float>(draw(random, -4, 4)) : normal(random));
  }

  /// sum of w g (or of |w g|) by key, in double.
  std::map<std::int64_t, std::vector<double>> row_gradients(bool magnitudes) const {
    std::map<std::int64_t, std::vector<double>> sums;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const auto& block = blocks[b];
      for (std::int64_t bag = block.first_bag; bag < block.first_bag + block.bags; ++bag)
        for (auto i = bags.offsets[at(bag)]; i < bags.offsets[at(bag + 1)]; ++i) {
          const std::int64_t key = block.first_key + bags.indices[at(i)];
          const auto& shard = shard_of(key);
          const auto vector =
              block.pooling == Pooling::none ? i - bags.offsets[at(block.first_bag)] : bag - block.first_bag;
          auto& sum = sums.try_emplace(key, at(shard.dim)).first->second;
          for (std::int64_t d = 0; d < shard.dim; ++d) {
            const double term = (bags.weights.empty() ? 1.0 : bags.weights[at(i)]) *
                                static_cast<double>(gradients[at(block.gradient + vector * block.gradient_stride + d)]);
            sum[at(d)] += magnitudes ? std::abs(term) : term;
          }
        }
    }
    return sums;
  }

  const Shard& shard_of(std::int64_t key) const {
    for (const auto& shard : shards)
      if (key >= shard.first_key && key < shard.first_key + shard.rows) return shard;
    throw std::logic_error("no shard");
  }
};

Optimizer optimizer_of(OptimizerKind kind, float rate) {
  return {.kind = kind, .learning_rate = rate, .epsilon = 1e-8F, .initial_accumulator = 0.125F};
}

/// All dims; a table of 3 rows that most positions hit, an empty shard, weights on odd seeds.
Problem random_problem(std::uint64_t seed, bool exact, std::vector<OptimizerKind> kinds) {
  Random random(seed);
  Problem problem{.values = {.seed = seed, .unit = exact ? 0x1p-6F : 0}};
  std::size_t next = seed;
  for (const std::int64_t dim : {1, 3, 4, 8, 16, 17, 32, 64, 128, 200, 256, 300}) {
    const auto kind = kinds[next++ % kinds.size()];
    if (dim == 64) problem.add_shard(0, 64, optimizer_of(kind, 1));
    const auto shard = problem.add_shard(dim == 16 ? 3 : draw(random, 1, 60), dim, optimizer_of(kind, 0.01F));
    const auto first_bag = problem.bags.bags();
    problem.bags.add_random(random, dim == 16 ? 900 : draw(random, 0, 50), problem.shards[at(shard)].rows, 5);
    problem.add_block(random, shard, first_bag, poolings[next % 2].value, exact, draw(random, 0, 2));
  }
  if (seed % 2 == 1) problem.bags.add_weights(random);
  return problem;
}

template <class Types>
struct Update {
  using Exec = typename Types::Exec;
  using Value = typename Types::Value;
  using Index = typename Types::Index;
  using Shards = ShardList<Exec, UpdateShard<Value>>;

  Exec exec;
  std::vector<Array<Exec, Value>> rows;
  std::vector<Array<Exec, float>> state;
  std::vector<UpdateShard<Value>> shards;
  UniqueRowsWorkspace<Exec> sort_workspace;
  RowGradientsWorkspace<Exec> workspace;

  explicit Update(const Problem& problem) {
    for (std::size_t s = 0; s < problem.shards.size(); ++s) {
      const auto& shard = problem.shards[s];
      rows.emplace_back("rows", at(shard.rows * shard.dim));
      fill_rows(exec, problem.values,
                ShardRows{.table = static_cast<std::int64_t>(s), .count = shard.rows, .dim = shard.dim},
                rows.back().data());
      state.emplace_back("state", at(shard.rows * state_per_row(shard.optimizer.kind, shard.dim)));
      Kokkos::deep_copy(state.back(), shard.optimizer.initial_accumulator);
      shards.push_back(
          {rows.back().data(), state.back().data(), shard.first_key, shard.dim, shard.dim, shard.optimizer});
    }
  }

  Shards list() const { return shard_list(exec, shards); }

  auto gradients(const Problem& problem) {
    const Array<Exec, std::int64_t> keys("keys", problem.bags.indices.size());
    const Array<Exec, std::int64_t> offset("gradient_offset", problem.bags.indices.size());
    expand_positions(exec, array_of(exec, problem.blocks, "blocks"), array_of(exec, problem.bags.offsets, "offsets"),
                     array_of(exec, converted<Index>(problem.bags.indices), "indices"), keys, offset);
    return row_gradients(exec, unique_rows(exec, keys, problem.keys, sort_workspace), offset,
                         array_of(exec, problem.bags.weights, "weights"),
                         array_of(exec, problem.gradients, "gradients"));
  }

  void run(const Problem& problem) { fused_update(exec, gradients(problem), list(), workspace); }

  std::vector<std::vector<Value>> row_bits() const {
    std::vector<std::vector<Value>> all;
    for (const auto& shard_rows : rows) all.push_back(host(shard_rows));
    return all;
  }
  std::vector<std::vector<float>> state_bits() const {
    std::vector<std::vector<float>> all;
    for (const auto& shard_state : state) all.push_back(host(shard_state));
    return all;
  }
};

/// Compares every row and state with the reference step by the double gradient. The gradient may differ by
/// terms * 2^-24 * sum |w g|; what an update makes of it is bounded by 64 * 2^-24 of its own size, 0 when `exact`.
template <class Types>
void expect_reference(const Problem& problem, const Update<Types>& update, bool exact) {
  using Value = typename Types::Value;
  const auto gradients = problem.row_gradients(false);
  const auto magnitudes = problem.row_gradients(true);
  for (std::size_t s = 0; s < problem.shards.size(); ++s) {
    const auto& shard = problem.shards[s];
    const auto rows = host(update.rows[s]);
    const auto state = host(update.state[s]);
    const auto state_size = state_per_row(shard.optimizer.kind, shard.dim);
    for (std::int64_t r = 0; r < shard.rows; ++r) {
      const std::int64_t key = shard.first_key + r;
      const bool touched = gradients.contains(key);
      std::vector<Value> row(at(shard.dim));
      for (std::int64_t d = 0; d < shard.dim; ++d) row[at(d)] = problem.values(static_cast<std::int64_t>(s), r, d);
      const auto initial = row;
      std::vector<Value> row_state(at(state_size), shard.optimizer.initial_accumulator);
      if (touched) reference::optimizer_step<Value>(shard.optimizer, 1, row, row_state, gradients.at(key));
      for (std::int64_t d = 0; d < shard.dim; ++d) {
        double bound = 0;
        if (touched && !exact) {
          const double g = gradients.at(key)[at(d)];
          const double slack = 60 * 0x1p-24 * magnitudes.at(key)[at(d)] / std::max(1e-30, std::abs(g));
          bound = (64 * 0x1p-24 + slack) * 3 * std::abs(row[at(d)] - initial[at(d)]) + 0x1p-23 * std::abs(row[at(d)]);
        }
        ASSERT_NEAR(rows[at(r * shard.dim + d)], row[at(d)], bound)
            << "shard " << s << " dim " << shard.dim << " row " << r << " column " << d;
      }
      for (std::int64_t j = 0; j < state_size; ++j)
        ASSERT_NEAR(state[at(r * state_size + j)], row_state[at(j)], touched ? 1e-4 * std::abs(row_state[at(j)]) : 0)
            << "shard " << s << " row " << r;
    }
  }
}

template <class Types>
class FusedUpdateTest : public testing::Test {};
TYPED_TEST_SUITE(FusedUpdateTest, AllTypes);

TYPED_TEST(FusedUpdateTest, GivesHandComputedRows) {
  using Value = typename TypeParam::Value;
  const auto updated = [](OptimizerKind kind) {
    Problem problem;
    problem.add_shard(3, 2, {.kind = kind, .learning_rate = 0.5F, .epsilon = 0, .initial_accumulator = 0});
    problem.bags.add({2, 0, 2});
    problem.bags.add({2});
    problem.bags.weights = {1, 2, 0.5F, 1};
    problem.gradients = {2, 4, 0, -2};  // row 2: 1.5 (2, 4) + (0, -2) = (3, 4); row 0: (4, 8)
    problem.blocks = {{0, 2, 0, 0, 2, Pooling::sum}};
    Update<TypeParam> update(problem);
    Kokkos::deep_copy(update.rows[0], Value{1});
    update.run(problem);
    return std::pair(host(update.rows[0]), host(update.state[0]));
  };
  EXPECT_EQ(updated(OptimizerKind::sgd).first, (std::vector<Value>{-1, -3, 1, 1, -0.5, -1}));
  EXPECT_EQ(updated(OptimizerKind::adagrad).first, (std::vector<Value>{0.5, 0.5, 1, 1, 0.5, 0.5}));
  EXPECT_EQ(updated(OptimizerKind::adagrad).second, (std::vector<float>{16, 64, 0, 0, 9, 16}));
  EXPECT_EQ(updated(OptimizerKind::rowwise_adagrad).second, (std::vector<float>{40, 0, 12.5}));
  EXPECT_NEAR(updated(OptimizerKind::rowwise_adagrad).first[4], 1 - 1.5 / std::sqrt(12.5), 1e-7);
}

TYPED_TEST(FusedUpdateTest, SgdEqualsTheReferenceBitForBitOnExactValues) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    const auto problem = random_problem(seed, true, {OptimizerKind::sgd});
    Update<TypeParam> update(problem);
    update.run(problem);
    if constexpr (std::is_same_v<typename TypeParam::Value, float>) {
      expect_reference(problem, update, true);
    } else {
      expect_reference(problem, update, false);
    }
  }
}

TYPED_TEST(FusedUpdateTest, MixedOptimizersStayWithinTheirBounds) {
  for (std::uint64_t seed = 20; seed < 24; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    const auto problem = random_problem(
        seed, false,
        {OptimizerKind::sgd, OptimizerKind::adagrad, OptimizerKind::rowwise_adagrad, OptimizerKind::adagrad});
    Update<TypeParam> update(problem);
    update.run(problem);
    expect_reference(problem, update, false);
  }
}

TYPED_TEST(FusedUpdateTest, TakesNoPositions) {
  Problem problem;
  problem.add_shard(3, 16, {});
  Update<TypeParam> update(problem);
  const auto before = update.row_bits();
  update.run(problem);
  EXPECT_EQ(update.row_bits(), before);
}

TYPED_TEST(FusedUpdateTest, DenseGradientAndUpdateEqualTheSparseOnes) {
  using Exec = typename TypeParam::Exec;
  for (std::uint64_t seed = 40; seed < 44; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    const auto problem =
        random_problem(seed, false, {OptimizerKind::adagrad, OptimizerKind::rowwise_adagrad, OptimizerKind::sgd});
    std::vector<DenseShard> dense_shards;
    std::int64_t size = 0;
    for (const auto& shard : problem.shards) {
      dense_shards.push_back({shard.first_key, shard.dim, size});
      size += shard.rows * shard.dim;
    }
    Update<TypeParam> sparse(problem);
    sparse.run(problem);
    Update<TypeParam> update(problem);
    const auto list = shard_list(update.exec, dense_shards);
    const Array<Exec, float> dense("dense", at(size));
    Kokkos::deep_copy(dense, 77.0F);
    reduce_to_dense(update.exec, update.gradients(problem), list, update.workspace, dense);
    const auto all = row_gradients(update.exec, identity_rows(problem.keys), DenseOffset<Exec>{list}, {}, dense);
    fused_update(update.exec, all, update.list(), update.workspace);
    EXPECT_EQ(update.row_bits(), sparse.row_bits());
    EXPECT_EQ(update.state_bits(), sparse.state_bits());
  }
}

TYPED_TEST(FusedUpdateTest, ColumnShardsWithSummedSquaresEqualTheWholeTable) {
  using Exec = typename TypeParam::Exec;
  using Value = typename TypeParam::Value;
  Random random(50);
  const auto optimizer = optimizer_of(OptimizerKind::rowwise_adagrad, 0.5F);
  Problem whole{.values = {.seed = 50, .unit = 0x1p-6F}};
  whole.add_shard(20, 24, optimizer);
  whole.bags.add_random(random, 60, 20, 4);
  whole.add_block(random, 0, 0, Pooling::sum, true, 0);
  Update<TypeParam> expected(whole);
  expected.run(whole);

  std::vector<Problem> parts(2);  // columns 0..16 and 16..24
  std::vector<Update<TypeParam>> updates;
  std::vector<double> squares;
  for (std::size_t half = 0; half < 2; ++half) {
    auto& part = parts[half];
    const std::int64_t dim = half == 0 ? 16 : 8;
    part.bags = whole.bags;
    part.add_shard(20, dim, optimizer);
    part.blocks = {{0, 60, 0, 0, dim, Pooling::sum}};
    for (std::int64_t bag = 0; bag < 60; ++bag)
      for (std::int64_t d = 0; d < dim; ++d)
        part.gradients.push_back(whole.gradients[at(bag * 24 + (half == 0 ? 0 : 16) + d)]);
    updates.emplace_back(part);
    auto& update = updates.back();
    fill_rows(update.exec, whole.values, ShardRows{.count = 20, .column_begin = half == 0 ? 0 : 16, .dim = dim},
              update.rows[0].data());
    update.shards[0].full_dim = 24;
    const auto gradients = update.gradients(part);
    const Array<Exec, double> sums("sums", at(gradients.unique.count));
    row_square_sums(update.exec, gradients, update.list(), update.workspace, sums);
    const auto partial = host(sums);
    squares.resize(partial.size());
    for (std::size_t u = 0; u < partial.size(); ++u) squares[u] += partial[u];
  }
  const auto reference_rows = host(expected.rows[0]);
  for (std::size_t half = 0; half < 2; ++half) {
    auto& update = updates[half];
    fused_update(update.exec, update.gradients(parts[half]), update.list(), update.workspace,
                 array_of(update.exec, squares, "squares"));
    EXPECT_EQ(host(update.state[0]), host(expected.state[0]));
    const auto rows = host(update.rows[0]);
    const std::int64_t dim = half == 0 ? 16 : 8;
    for (std::int64_t r = 0; r < 20; ++r)
      for (std::int64_t d = 0; d < dim; ++d)
        ASSERT_EQ(rows[at(r * dim + d)], (Value{reference_rows[at(r * 24 + (half == 0 ? 0 : 16) + d)]}));
  }
}

/// A table of 3 rows and 200,000 ids, as the smallest Criteo tables get in one batch.
Problem hot_problem(bool exact, const Optimizer& optimizer) {
  Random random(60);
  Problem problem{.values = {.seed = 60, .unit = exact ? 0x1p-6F : 0}};
  problem.add_shard(3, 16, optimizer);
  for (std::int64_t bag = 0; bag < 200'000; ++bag) problem.bags.add({bag % 100 == 0 ? bag % 3 : 1});
  problem.add_block(random, 0, 0, Pooling::sum, exact, 0);
  return problem;
}

TYPED_TEST(FusedUpdateTest, HotRowEqualsTheReference) {
  const auto problem = hot_problem(true, {.learning_rate = 0.25F});
  Update<TypeParam> update(problem);
  update.run(problem);
  expect_reference(problem, update, true);
}

TEST(FusedUpdate, HotRowIsSummedInTheStatedOrder) {
  using Host = Types<Kokkos::DefaultHostExecutionSpace, std::int64_t, float>;
  const auto problem = hot_problem(false, {.learning_rate = 1});
  Update<Host> update(problem);
  Kokkos::deep_copy(update.rows[0], 0.0F);
  update.run(problem);
  std::vector<float> sum(16, 0), piece(16, 0);
  std::int64_t in_piece = 0;
  const auto add_piece = [&] {
    for (std::size_t d = 0; d < 16; ++d) sum[d] += piece[d];
    piece.assign(16, 0);
    in_piece = 0;
  };
  for (std::size_t p = 0; p < problem.bags.indices.size(); ++p) {
    if (problem.bags.indices[p] != 1) continue;
    for (std::size_t d = 0; d < 16; ++d) piece[d] += problem.gradients[p * 16 + d];
    if (++in_piece == hot_row_piece) add_piece();
  }
  add_piece();
  const auto rows = host(update.rows[0]);
  for (std::size_t d = 0; d < 16; ++d) EXPECT_EQ(rows[16 + d], -sum[d]);
}

TEST(FusedUpdate, HasTheSameBitsForAnyNumberOfThreads) {
  using Alone = Types<Kokkos::Serial, std::int64_t, float>;
  using Together = Types<Kokkos::DefaultHostExecutionSpace, std::int64_t, float>;
  auto problems = std::vector{hot_problem(false, optimizer_of(OptimizerKind::rowwise_adagrad, 0.1F))};
  for (std::uint64_t seed = 70; seed < 74; ++seed)
    problems.push_back(
        random_problem(seed, false, {OptimizerKind::adagrad, OptimizerKind::rowwise_adagrad, OptimizerKind::sgd}));
  for (const auto& problem : problems) {
    SCOPED_TRACE(seed_line(problem.values.seed));
    Update<Alone> alone(problem);
    Update<Together> together(problem);
    alone.run(problem);
    together.run(problem);
    EXPECT_EQ(alone.row_bits(), together.row_bits());
    EXPECT_EQ(alone.state_bits(), together.state_bits());
  }
}

TEST(RowElements, SumsOverDistinctRows) {
  using Host = Types<Kokkos::DefaultHostExecutionSpace, std::int64_t, float>;
  Problem problem;
  problem.add_shard(3, 4, {.kind = OptimizerKind::adagrad});
  problem.add_shard(3, 8, {.kind = OptimizerKind::rowwise_adagrad});
  Update<Host> update(problem);
  const auto keys = array_of(update.exec, std::vector<std::int64_t>{0, 0, 2, 4, 4, 4}, "keys");
  const auto total = row_elements(update.exec, unique_rows(update.exec, keys, 6, update.sort_workspace), update.list());
  EXPECT_EQ(total.values, 4 + 4 + 8);
  EXPECT_EQ(total.state, 4 + 4 + 1);
}

}  // namespace
}  // namespace shardmark::kernels::test
