// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/test/update_problem.hpp"
#include "kernels/update/fused_update.hpp"

namespace shardmark::kernels::test {
namespace {

/// All dims; a table of 3 rows that most positions hit, one with more rows than are worked on together, an empty shard,
/// weights on odd seeds.
/// shard_options(n) gives {optimizer, value type, stochastic} of shard n.
template <class ShardOptions>
UpdateProblem random_problem(std::uint64_t seed, bool exact, const ShardOptions& shard_options) {
  Random random(seed);
  UpdateProblem problem{.values = {.seed = seed, .unit = exact ? 0x1p-6F : 0}};
  std::size_t next = seed;
  for (const std::int64_t dim : {1, 3, 4, 5, 7, 8, 16, 17, 32, 64, 128, 130, 200, 256, 300, 600}) {
    const auto [optimizer, type, stochastic] = shard_options(next++);
    if (dim == 64) problem.add_shard(0, 64, optimizer);
    const std::int64_t rows = dim == 16 ? 3 : dim == 32 ? 400 : draw(random, 1, 60);
    const auto shard = problem.add_shard(rows, dim, optimizer, type, stochastic);
    const auto first_bag = problem.bags.bags();
    problem.bags.add_random(random, dim == 16 ? 900 : dim == 32 ? 200 : draw(random, 0, 50), rows, 5);
    problem.add_block(random, shard, first_bag, poolings[next % 2].value, exact, draw(random, 0, 2));
  }
  if (seed % 2 == 1) problem.bags.add_weights(random);
  return problem;
}

struct ShardOptions {
  Optimizer optimizer{};
  ValueType value_type = ValueType::fp32;
  bool stochastic = false;
};

/// Distance between neighbours of the type around x.
double spacing(ValueType type, double x) {
  const double finest = type == ValueType::fp16 ? 0x1p-24 : 0x1p-133;
  const double digits = type == ValueType::fp16 ? 0x1p-10 : 0x1p-7;
  return type == ValueType::fp32 ? 0 : std::max(finest, std::exp2(std::floor(std::log2(std::abs(x)))) * digits);
}

/// One step of the update and of the reference, both from the values that the update has by now, by gradients that
/// fp32 sums exactly.
template <class Types>
void expect_step_of_reference(const UpdateProblem& problem, Update<Types>& update) {
  constexpr double u = 0x1p-24;
  const auto before = update.row_bits();
  const auto state_before = update.state_bits();
  update.run(problem);
  const auto gradients = problem.row_gradients(false);
  for (std::size_t s = 0; s < problem.shards.size(); ++s) {
    const auto& shard = problem.shards[s];
    const auto got = update.values(s), got_state = host(update.state[s]);
    const auto size = state_per_row(shard.optimizer.kind, shard.dim);
    for (std::int64_t r = 0; r < shard.rows; ++r) {
      SCOPED_TRACE("shard " + std::to_string(s) + " row " + std::to_string(r) + " dim " + std::to_string(shard.dim) +
                   " " + std::string(name_of(shard.optimizer.kind)) + " " + std::string(name_of(shard.value_type)));
      std::vector<float> row(&before[s][at(r * shard.dim)], &before[s][at(r * shard.dim)] + shard.dim);
      std::vector<float> state(state_before[s].data() + r * size, state_before[s].data() + (r + 1) * size);
      const auto old = row, old_state = state;
      const auto g = gradients.find(shard.first_key + r);
      if (g == gradients.end()) {
        for (std::int64_t c = 0; c < shard.dim; ++c) ASSERT_EQ(got[at(r * shard.dim + c)], old[at(c)]);
        for (std::int64_t i = 0; i < size; ++i) ASSERT_EQ(got_state[at(r * size + i)], old_state[at(i)]);
        continue;
      }
      reference::optimizer_step<float>(shard.optimizer, update.step.number, row, state, g->second);
      for (std::int64_t c = 0; c < shard.dim; ++c) {
        const double lr = shard.optimizer.learning_rate;
        const double moved = std::abs(row[at(c)] - old[at(c)]) + lr * (std::abs(g->second[at(c)]) + 1);
        const double bound = 64 * u * (moved + std::abs(old[at(c)])) +
                             spacing(shard.value_type, row[at(c)]) * (shard.stochastic ? 1.01 : 0.501);
        ASSERT_NEAR(got[at(r * shard.dim + c)], row[at(c)], bound) << "column " << c << " from " << old[at(c)];
      }
      for (std::int64_t i = 0; i < size; ++i) {
        const double scale = std::abs(state[at(i)]) + std::abs(old_state[at(i)]) + 0.01;
        ASSERT_NEAR(got_state[at(r * size + i)], state[at(i)], 64 * u * scale) << "state " << i;
      }
    }
  }
}

TEST(FusedUpdate, GivesHandComputedRows) {
  for (const ValueType type : {ValueType::fp32, ValueType::fp16, ValueType::bf16}) {
    const auto updated = [&](OptimizerKind kind) {
      UpdateProblem problem;
      problem.add_shard(3, 2, {.kind = kind, .learning_rate = 0.5F, .epsilon = 0}, type);
      problem.bags.add({2, 0, 2});
      problem.bags.add({2});
      problem.bags.weights = {1, 2, 0.5F, 1};
      problem.gradients = {2, 4, 0, -2};  // row 2: 1.5 (2, 4) + (0, -2) = (3, 4); row 0: (4, 8)
      problem.blocks = {{0, 2, 0, 0, 2, Pooling::sum}};
      Update<Int64Ids> update(problem);
      update.set_values(0, std::vector<float>(6, 1.0F));
      update.run(problem);
      auto values = update.values(0);
      values.resize(6);
      return std::pair(values, host(update.state[0]));
    };
    EXPECT_EQ(updated(OptimizerKind::sgd).first, (std::vector<float>{-1, -3, 1, 1, -0.5, -1}));
    EXPECT_EQ(updated(OptimizerKind::momentum).second, (std::vector<float>{-2, -4, 0, 0, -1.5, -2}));
    EXPECT_EQ(updated(OptimizerKind::adagrad).first, (std::vector<float>{0.5, 0.5, 1, 1, 0.5, 0.5}));
    EXPECT_EQ(updated(OptimizerKind::adagrad).second, (std::vector<float>{16, 64, 0, 0, 9, 16}));
    EXPECT_EQ(updated(OptimizerKind::rowwise_adagrad).second, (std::vector<float>{40, 0, 12.5}));
    EXPECT_EQ(updated(OptimizerKind::none).first, std::vector<float>(6, 1.0F));
  }
}

TEST(FusedUpdate, SgdEqualsTheReferenceBitForBitOnExactValues) {
  constexpr std::array types{ValueType::fp32, ValueType::fp16, ValueType::bf16};
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    const auto problem = random_problem(seed, true, [&](std::size_t n) {
      return ShardOptions{{.learning_rate = 0.25F}, types[n % 3], n / 3 % 2 == 1};
    });
    Update<Int64Ids> update(problem);
    const auto before = update.row_bits();
    update.run(problem);
    for (const auto& [key, gradient] : problem.row_gradients(false)) {
      const auto s = static_cast<std::size_t>(&problem.shard_of(key) - problem.shards.data());
      const auto& shard = problem.shards[s];
      const auto values = update.values(s);
      for (std::int64_t c = 0; c < shard.dim; ++c) {
        const std::int64_t row = key - shard.first_key, i = row * shard.dim + c;
        const RowRounding rounding{shard.value_type,
                                   shard.stochastic,
                                   update.step.seed,
                                   update.step.number,
                                   static_cast<std::int64_t>(s),
                                   row};
        const auto next = static_cast<float>(before[s][at(i)] - 0.25 * gradient[at(c)]);
        ASSERT_EQ(values[at(i)], rounding(next, c)) << "shard " << s << " row " << row << " column " << c;
      }
    }
  }
}

TEST(FusedUpdate, EveryOptimizerAndValueTypeFollowsTheReferenceForThreeSteps) {
  constexpr std::array types{ValueType::fp32, ValueType::fp16, ValueType::fp32, ValueType::bf16};
  for (std::uint64_t seed = 20; seed < 20 + 3 * optimizers.size(); seed += 3) {
    SCOPED_TRACE(seed_line(seed));
    auto problem = random_problem(seed, true, [&](std::size_t n) {
      return ShardOptions{any_optimizer(n + 2 * seed), types[(n + seed / 2) % 4], n % 3 == 0};
    });
    problem.values.unit = 0;
    Update<Int64Ids> update(problem);
    for (int step = 0; step < 3; ++step) expect_step_of_reference(problem, update);
  }
}

/// fp32 sums of n terms are off by at most n u of the sum of their magnitudes.
TEST(FusedUpdate, SumsOfAnyGradientsStayWithinTheirBound) {
  for (std::uint64_t seed = 40; seed < 44; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    const auto problem = random_problem(seed, false, [](std::size_t) { return ShardOptions{{.learning_rate = 1}}; });
    Update<Int64Ids> update(problem);
    for (std::size_t s = 0; s < problem.shards.size(); ++s)
      update.set_values(s, std::vector<float>(at(problem.shards[s].rows * problem.shards[s].dim), 0.0F));
    update.run(problem);
    const auto magnitudes = problem.row_gradients(true);
    for (const auto& [key, gradient] : problem.row_gradients(false)) {
      const auto s = static_cast<std::size_t>(&problem.shard_of(key) - problem.shards.data());
      const auto& shard = problem.shards[s];
      const auto values = update.values(s);
      for (std::int64_t c = 0; c < shard.dim; ++c)
        ASSERT_NEAR(values[at((key - shard.first_key) * shard.dim + c)], -gradient[at(c)],
                    60 * 0x1p-24 * magnitudes.at(key)[at(c)]);
    }
  }
}

TEST(FusedUpdate, TakesNoPositions) {
  UpdateProblem problem;
  problem.add_shard(3, 16, {});
  Update<Int64Ids> update(problem);
  const auto before = update.row_bits();
  update.run(problem);
  EXPECT_EQ(update.row_bits(), before);
}

/// A table of 3 rows and 200,000 ids, as the smallest Criteo tables get in one batch.
UpdateProblem hot_problem(bool exact, const Optimizer& optimizer) {
  Random random(60);
  UpdateProblem problem{.values = {.seed = 60, .unit = exact ? 0x1p-6F : 0}};
  problem.add_shard(3, 16, optimizer);
  for (std::int64_t bag = 0; bag < 200'000; ++bag) problem.bags.add({bag % 100 == 0 ? bag % 3 : 1});
  problem.add_block(random, 0, 0, Pooling::sum, exact, 0);
  return problem;
}

TEST(FusedUpdate, HotRowEqualsTheReference) {
  const auto problem = hot_problem(true, {.learning_rate = 0.25F});
  Update<Int64Ids> update(problem);
  const auto before = update.values(0);
  update.run(problem);
  for (const auto& [key, gradient] : problem.row_gradients(false))
    for (std::int64_t c = 0; c < 16; ++c)
      ASSERT_EQ(update.values(0)[at(key * 16 + c)],
                static_cast<float>(before[at(key * 16 + c)] - 0.25 * gradient[at(c)]));
}

TEST(FusedUpdate, HotRowIsSummedInTheStatedOrder) {
  const auto problem = hot_problem(false, {.learning_rate = 1});
  Update<Int64Ids> update(problem);
  update.set_values(0, std::vector<float>(48, 0.0F));
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
  const auto rows = update.values(0);
  for (std::size_t d = 0; d < 16; ++d) EXPECT_EQ(rows[16 + d], -sum[d]);
}

/// Rows with about as many positions as are summed at once, ahead of the others or in one piece, begin anywhere.
TEST(FusedUpdate, RowsOfAnyLengthAreSummedInTheStatedOrder) {
  const std::vector<std::int64_t> lengths{1,   2,   5,    31,   32,   33,   63,   64,   65,   127,
                                          128, 129, 1023, 1024, 1025, 1087, 1088, 2048, 2049, 3101};
  std::uint64_t seed = 90;
  for (const auto& [dim, gap] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 0}, {16, 1}, {64, 0}, {130, 2}}) {
    for (const bool weighted : {false, true}) {
      SCOPED_TRACE(seed_line(++seed) + ", dim " + std::to_string(dim));
      Random random(seed);
      std::vector<std::int64_t> ids;
      for (std::int64_t row = 0; row < 40; ++row) {
        const std::int64_t length = lengths[at(draw(random, 0, std::ssize(lengths) - 1))];
        ids.insert(ids.end(), at(length), row);
      }
      std::shuffle(ids.begin(), ids.end(), random);
      UpdateProblem problem{.values = {.seed = seed}};
      problem.add_shard(40, dim, {.learning_rate = 1});
      for (const auto id : ids) problem.bags.add({id});
      problem.add_block(random, 0, 0, Pooling::sum, false, gap);
      if (weighted) problem.bags.add_weights(random);
      Update<Int64Ids> update(problem);
      update.set_values(0, std::vector<float>(at(40 * dim), 0.0F));
      update.run(problem);

      std::vector<float> sums(at(40 * dim)), pieces(sums);
      std::vector<std::int64_t> in_piece(40);
      const auto add_piece = [&](std::int64_t row) {
        for (std::size_t i = at(row * dim); i < at((row + 1) * dim); ++i) {
          sums[i] += pieces[i];
          pieces[i] = 0;
        }
        in_piece[at(row)] = 0;
      };
      for (std::size_t p = 0; p < ids.size(); ++p) {
        const std::int64_t row = ids[p];
        for (std::int64_t c = 0; c < dim; ++c) {
          const float g = problem.gradients[p * at(dim + gap) + at(c)];
          pieces[at(row * dim + c)] += weighted ? problem.bags.weights[p] * g : g;
        }
        if (++in_piece[at(row)] == hot_row_piece) add_piece(row);
      }
      for (std::int64_t row = 0; row < 40; ++row) add_piece(row);
      const auto rows = update.values(0);
      for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(rows[i], -sums[i]) << "row " << i / at(dim);
    }
  }
}

/// Rows and state that begin at any element, as parts of tables may.
TEST(FusedUpdate, RowsOfAnyAlignmentGetTheSameBits) {
  for (std::size_t number = 0; number < optimizers.size(); ++number) {
    for (const ValueType type : {ValueType::fp32, ValueType::fp16, ValueType::bf16}) {
      Random random(100);
      UpdateProblem problem{.values = {.seed = 100}};
      problem.add_shard(30, 20, any_optimizer(number), type);
      problem.bags.add_random(random, 60, 30, 4);
      problem.add_block(random, 0, 0, Pooling::sum, false, 0);
      Update<Int64Ids> expected(problem), moved(problem);
      const auto bytes = static_cast<std::int64_t>(row_bytes(type, 1));
      const auto words = host(moved.rows[0]);
      std::vector<std::uint32_t> shifted(words.size() + 1);
      std::memcpy(reinterpret_cast<char*>(shifted.data()) + bytes, words.data(), words.size() * sizeof(words[0]));
      const auto rows = array_of(moved.exec, shifted, "rows");
      moved.shards[0].rows = reinterpret_cast<char*>(rows.data()) + bytes;
      std::vector<float> numbers = host(moved.state[0]);
      numbers.insert(numbers.begin(), 0.0F);
      const auto state = array_of(moved.exec, numbers, "state");
      moved.shards[0].state = state.data() + 1;
      for (int step = 0; step < 2; ++step) {
        expected.run(problem);
        moved.run(problem);
      }
      const auto got = host(rows), want = host(expected.rows[0]);
      const auto used = at(30 * row_bytes(type, 20));
      EXPECT_EQ(std::memcmp(reinterpret_cast<const char*>(got.data()) + bytes, want.data(), used), 0)
          << name_of(any_optimizer(number).kind) << " " << name_of(type);
      auto got_state = host(state);
      got_state.erase(got_state.begin());
      EXPECT_EQ(got_state, host(expected.state[0]));
    }
  }
}

TEST(FusedUpdate, HasTheSameBitsForAnyNumberOfThreads) {
  constexpr std::array types{ValueType::fp32, ValueType::fp16, ValueType::bf16};
  std::vector<UpdateProblem> problems;
  for (std::size_t kind = 0; kind < optimizers.size(); ++kind)
    problems.push_back(hot_problem(false, any_optimizer(kind)));
  for (std::uint64_t seed = 70; seed < 76; ++seed)
    problems.push_back(random_problem(seed, false, [&](std::size_t n) {
      return ShardOptions{any_optimizer(n + 2 * seed), types[n % 3], n % 2 == 0};
    }));
  for (const auto& problem : problems) {
    SCOPED_TRACE(seed_line(problem.values.seed));
    Update<Int64Ids> alone(problem, half_of_the_threads());
    Update<Int64Ids> together(problem);
    alone.run(problem);
    together.run(problem);
    EXPECT_EQ(alone.row_bits(), together.row_bits());
    EXPECT_EQ(alone.state_bits(), together.state_bits());
  }
}

TEST(FusedUpdate, StochasticRoundingDoesNotDependOnThePlacement) {
  Random random(80);
  UpdateProblem whole{.values = {.seed = 80}};
  whole.add_shard(8, 24, {.learning_rate = 0.3F}, ValueType::bf16, true);
  for (std::int64_t id = 0; id < 8; ++id) whole.bags.add({id});
  whole.add_block(random, 0, 0, Pooling::sum, false, 0);
  Update<Int64Ids> expected(whole);
  expected.run(whole);

  UpdateProblem part{.values = whole.values};  // rows 1, 4, 7 and columns 8 .. 24
  part.add_shard(3, 16, whole.shards[0].optimizer, ValueType::bf16, true);
  for (std::int64_t id = 0; id < 3; ++id) part.bags.add({id});
  part.blocks = {{0, 3, 0, 0, 16, Pooling::sum}};
  std::vector<float> values;
  for (std::int64_t row = 1; row < 8; row += 3)
    for (std::int64_t column = 8; column < 24; ++column) {
      part.gradients.push_back(whole.gradients[at(row * 24 + column)]);
      values.push_back(whole.values(0, row, column));
    }
  Update<Int64Ids> update(part);
  update.shards[0].row_begin = 1;
  update.shards[0].row_stride = 3;
  update.shards[0].column_begin = 8;
  update.shards[0].full_dim = 24;
  update.set_values(0, values);
  update.run(part);
  for (std::int64_t row = 0; row < 3; ++row)
    for (std::int64_t column = 0; column < 16; ++column)
      EXPECT_EQ(update.values(0)[at(row * 16 + column)], expected.values(0)[at((1 + 3 * row) * 24 + 8 + column)]);
}

TEST(RowElements, SumsOverDistinctRows) {
  UpdateProblem problem;
  problem.add_shard(3, 4, {.kind = OptimizerKind::adagrad});
  problem.add_shard(3, 8, {.kind = OptimizerKind::rowwise_adagrad}, ValueType::fp16);
  Update<Int64Ids> update(problem);
  const auto keys = array_of(update.exec, std::vector<std::int64_t>{0, 0, 2, 4, 4, 4}, "keys");
  const auto total = row_elements(update.exec, unique_rows(update.exec, keys, 6, update.sort_workspace), update.list());
  EXPECT_EQ(total.rows, 3);
  EXPECT_EQ(total.values, 4 + 4 + 8);
  EXPECT_EQ(total.bytes, 16 + 16 + 16);
  EXPECT_EQ(total.state, 4 + 4 + 1);
}

}  // namespace
}  // namespace shardmark::kernels::test
