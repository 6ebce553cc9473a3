// SPDX-License-Identifier: Apache-2.0
// Tables of Storage::tt: whatever direction, order and fusing an fp32 program chooses, it stays inside the bounds of
// the oracle; a wrong one does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/oracle.hpp"
#include "reference/test/oracle_case.hpp"
#include "reference/test/tensor_train/float_train.hpp"
#include "reference/test/tensor_train/random_train.hpp"

namespace shardmark::reference {
namespace {

struct TtCase {
  Pooling pooling = Pooling::sum;
  Optimizer optimizer{};
  std::uint32_t seed = 0;
  bool weighted = false;
  ValueType value_type = ValueType::fp32;
  bool stochastic = false;
  float scale = 0.5F;

  /// From 2 to 6 cores by the seed, with slices that are wider than there are slices, and the other way round.
  Table table() const {
    std::mt19937 random(seed);
    const TensorTrainShape shape = random_shape(2 + static_cast<int>(seed % 5), random);
    Table table{.name = "A",
                .rows = shape.rows(),
                .dim = shape.dim(),
                .optimizer = optimizer,
                .storage = Storage::tt,
                .value_type = value_type,
                .stochastic_rounding = stochastic};
    table.tensor_train.cores = shape.cores;
    for (int t = 0; t < shape.cores; ++t) {
      table.tensor_train.row_shape.push_back(shape.p[t]);
      table.tensor_train.dim_shape.push_back(shape.q[t]);
      if (t > 0) table.tensor_train.ranks.push_back(std::min(shape.r[t], rank_limit(shape, t)));
    }
    return table;
  }
  /// The rank of the unfolding behind core t - 1.
  static std::int64_t rank_limit(const TensorTrainShape& shape, int t) {
    std::int64_t before = 1, behind = 1;
    for (int s = 0; s < shape.cores; ++s) (s < t ? before : behind) *= shape.p[s] * shape.q[s];
    return std::min(before, behind);
  }
  std::vector<Feature> features() const {
    return {{.name = "f0", .table = 0, .pooling = pooling}, {.name = "f1", .table = 0, .pooling = pooling}};
  }
  Batch batch() const { return random_batch(2, std::min<std::int64_t>(table().rows, 40), weighted, seed); }
  RowValues row_values() const { return {.seed = seed, .scale = scale}; }
  Oracle oracle() const { return Oracle({table()}, features(), row_values(), {.seed = seed}); }
  FloatTt program() const { return FloatTt(table(), features(), row_values(), {.seed = seed}, seed + 1); }

  std::string name() const {
    return std::string(name_of(pooling)) + " " + std::string(name_of(optimizer.kind)) + " " +
           text(tensor_train_shape(table())) + ", seed " + std::to_string(seed);
  }
};

/// How far values are from the expected ones, in bounds.
struct Distances {
  std::int64_t wrong = 0, seen = 0;
  double largest = 0.0, sum = 0.0;

  void add(std::span<const float> values, std::span<const float> expected, std::span<const float> bounds) {
    wrong += values.size() != expected.size();
    for (std::size_t i = 0; i < std::min(values.size(), expected.size()); ++i) {
      const double difference = std::abs(static_cast<double>(values[i]) - expected[i]);
      if (!(difference <= bounds[i])) ++wrong;
      if (bounds[i] == 0.0F) continue;
      ++seen;
      largest = std::max(largest, difference / bounds[i]);
      sum += difference / bounds[i];
    }
  }
};

void compare_outputs(Oracle& oracle, FloatTt& program, const Batch& batch, const Batch& of_program,
                     Distances& distances) {
  for (std::int64_t f = 0; f < batch.features; ++f) {
    const Expected expected = oracle.lookup(batch, f, 0, batch.samples);
    distances.add(program.lookup(of_program, f), expected.values, expected.bounds);
  }
}

void compare_cores(const Oracle& oracle, FloatTt& program, Distances& distances) {
  const auto cores = oracle.parts(0);
  for (int t = 0; t < static_cast<int>(cores.size()); ++t)
    for (std::int64_t slot = 0; slot < std::ssize(cores[t].rows()); ++slot) {
      const auto& slice = program.slice(t, cores[t].rows()[slot]);
      distances.add(slice.values, cores[t].values(slot), cores[t].value_bounds(slot));
      distances.add(slice.state, cores[t].state(slot), cores[t].state_bounds(slot));
    }
}

template <class Visit>
void for_each_tt_case(std::uint32_t seeds, Visit&& visit) {
  for (const auto& pooling : poolings)
    for (const auto& optimizer : optimizers)
      for (std::uint32_t seed = 0; seed < seeds; ++seed) {
        TtCase run{.pooling = pooling.value, .optimizer = optimizer_of(optimizer.value, seed), .seed = seed};
        run.weighted = seed / 5 % 2 == 1;
        run.value_type = std::array{ValueType::fp32, ValueType::fp16, ValueType::bf16}[seed % 3];
        run.stochastic = run.value_type != ValueType::fp32 && seed % 2 == 1;
        SCOPED_TRACE(run.name());
        visit(run);
      }
}

/// Takes steps on one batch, and compares the outputs before each and the cores behind it.
void compare_steps(const TtCase& run, std::int64_t steps, Distances& outputs, Distances& cores) {
  Oracle oracle = run.oracle();
  FloatTt program = run.program();
  const Batch batch = run.batch();
  for (std::int64_t step = 0; step < steps; ++step) {
    compare_outputs(oracle, program, batch, batch, outputs);
    oracle.update(batch, step);
    program.update(batch, step);
    compare_cores(oracle, program, cores);
  }
}

TEST(OracleTt, BoundsHoldForAnyDirectionOrderAndFusing) {
  Distances outputs, cores;
  for_each_tt_case(4, [&](const TtCase& run) {
    compare_steps(run, 3, outputs, cores);
    EXPECT_EQ(outputs.wrong, 0);
    EXPECT_EQ(cores.wrong, 0);
    outputs.wrong = cores.wrong = 0;
  });
  for (const auto& [name, of] : {std::pair{"outputs", outputs}, std::pair{"cores", cores}})
    std::cout << name << ": " << of.seen << " values with a bound, difference / bound "
              << of.sum / static_cast<double>(of.seen) << " in the mean, at most " << of.largest << "\n";
  EXPECT_GT(outputs.largest, 0.2);  // so bounds are not far from what happens
  EXPECT_GT(cores.largest, 0.2);
}

TEST(OracleTt, BoundsHoldForSubnormalRows) {
  for (const float scale : {0x1p-126F, 0x1p-135F, 0x1p-145F})
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      const TtCase run{.pooling = Pooling::mean, .seed = seed, .weighted = seed % 2 == 1, .scale = scale};
      SCOPED_TRACE(run.name());
      Distances outputs, cores;
      compare_steps(run, 2, outputs, cores);
      EXPECT_GT(outputs.seen, 0);
      EXPECT_EQ(outputs.wrong, 0);
      EXPECT_EQ(cores.wrong, 0);
    }
}

/// Where the sign of a gradient is uncertain, an adaptive optimizer may go a step either way: what is wide then stays a
/// number, so that it does not condemn a correct program.
TEST(OracleTt, BoundsThatGrowDoNotOverflow) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const TtCase run{.optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0.5F}, .seed = seed};
    SCOPED_TRACE(run.name());
    Oracle oracle = run.oracle();
    FloatTt program = run.program();
    Distances outputs, cores;
    for (std::int64_t step = 0; step < 40; ++step) {
      oracle.update(run.batch(), step);
      program.update(run.batch(), step);
    }
    compare_outputs(oracle, program, run.batch(), run.batch(), outputs);
    compare_cores(oracle, program, cores);
    EXPECT_EQ(outputs.wrong, 0);
    EXPECT_EQ(cores.wrong, 0);
  }
}

/// A program that reads or trains other rows than those that are named is found out by its first step.
TEST(OracleTt, AnotherIdLeavesTheBounds) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    const TtCase run{.optimizer = {.learning_rate = 0.05F}, .seed = seed};
    if (run.table().rows < 2) continue;
    SCOPED_TRACE(run.name());
    Oracle oracle = run.oracle();
    FloatTt program = run.program();
    Batch other = run.batch();
    other.indices.front() = (other.indices.front() + 1) % std::min<std::int64_t>(run.table().rows, 40);
    Distances outputs, cores;
    compare_outputs(oracle, program, run.batch(), other, outputs);
    EXPECT_GT(outputs.wrong, 0);
    oracle.update(run.batch(), 0);
    program.update(other, 0);
    compare_cores(oracle, program, cores);
    EXPECT_GT(cores.wrong, 0);
  }
}

TEST(OracleTt, RowsAreProductsOfTheInitialCores) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    const TtCase run{.pooling = Pooling::none, .seed = seed};
    SCOPED_TRACE(run.name());
    const Table table = run.table();
    const TensorTrainShape shape = tensor_train_shape(table);
    std::vector<std::vector<double>> cores;
    for (int t = 0; t < shape.cores; ++t) {
      const auto core = initial_core(table, shape, 0, t, run.row_values());
      cores.emplace_back(core.begin(), core.end());
    }
    const auto rows = full_table(shape, cores);
    Batch batch{.samples = 1, .features = 2, .offsets = {0, 0, 0}, .indices = {}, .weights = {}};
    for (std::int64_t row = table.rows - 1; row >= 0; --row) batch.indices.push_back(row);
    batch.offsets = {0, table.rows, table.rows};
    Oracle oracle = run.oracle();
    const Expected expected = oracle.lookup(batch, 0, 0, 1);
    for (std::int64_t i = 0; i < table.rows * table.dim; ++i) {
      const std::int64_t at = (table.rows - 1 - i / table.dim) * table.dim + i % table.dim;
      ASSERT_EQ(expected.values[i], static_cast<float>(rows[at]));
      ASSERT_LT(expected.bounds[i], 1e-4) << i;
    }
  }
}

TEST(OracleTt, TheNamedSlicesAreUpdatedAndNoOthers) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    const TtCase run{.optimizer = {.kind = OptimizerKind::momentum}, .seed = seed};
    SCOPED_TRACE(run.name());
    const TensorTrainShape shape = tensor_train_shape(run.table());
    Oracle oracle = run.oracle();
    EXPECT_FALSE(oracle.bit_exact(0));
    oracle.update(run.batch(), 0);
    ASSERT_EQ(std::ssize(oracle.parts(0)), shape.cores);
    for (int t = 0; t < shape.cores; ++t) {
      const TouchedTable& core = oracle.parts(0)[t];
      EXPECT_EQ(core.number(), core_number(0, t));
      std::set<std::int64_t> named, changed;
      for (const std::int64_t row : run.batch().indices) named.insert(shape.digits(row)[t]);
      TouchedTable fresh = core.untouched();
      for (std::int64_t slot = 0; slot < std::ssize(core.rows()); ++slot)
        if (!std::ranges::equal(core.values(slot), fresh.values(fresh.touch(core.rows()[slot]))))
          changed.insert(core.rows()[slot]);
      EXPECT_EQ(changed, named);
    }
  }
}

}  // namespace
}  // namespace shardmark::reference
