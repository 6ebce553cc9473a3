// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "reference/bounded_step.hpp"
#include "reference/optimizer_step.hpp"

namespace shardmark::reference {
namespace {

constexpr std::size_t row_dim = 4;
using Doubles = std::vector<double>;

/// A row, its state and its gradient, each off by up to `width` of itself or, where they are 0, of 1.
struct UncertainRow {
  TouchedTable table;
  std::int64_t slot, t;
  Doubles gradient, errors;

  UncertainRow(const Optimizer& optimizer, double width, std::uint32_t seed)
      : table({.name = "A", .rows = 1, .dim = row_dim, .optimizer = optimizer}, 0, {.seed = seed}),
        slot(table.touch(0)),
        t(1 + seed % 5) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> part(0.0, width), real(-1.0, 1.0), positive(0.0, 1.0);
    const auto bound = [&](double x) { return part(random) * (x == 0.0 ? 1.0 : std::abs(x)); };
    for (std::size_t c = 0; c < row_dim; ++c) {
      gradient.push_back(seed % 4 == 0 && c < 2 ? 0.0 : real(random));
      errors.push_back(bound(gradient[c]));
      table.value_bounds(slot)[c] = static_cast<float>(bound(table.values(slot)[c]));
    }
    for (std::size_t i = 0; i < table.state(slot).size(); ++i) {
      table.state(slot)[i] = static_cast<float>(positive(random));  // also what may be negative: v and n never are
      table.state_bounds(slot)[i] = static_cast<float>(bound(table.state(slot)[i]));
    }
  }

  /// Values and state after the step of something within the bounds.
  Doubles sampled(std::mt19937& random) const {
    const auto near = [&](double x, double error) {
      return x + error * std::uniform_real_distribution<double>(-1.0, 1.0)(random);
    };
    Doubles row, state, g;
    for (std::size_t c = 0; c < row_dim; ++c) {
      row.push_back(near(table.values(slot)[c], table.value_bounds(slot)[c]));
      g.push_back(near(gradient[c], errors[c]));
    }
    for (std::size_t i = 0; i < table.state(slot).size(); ++i)
      state.push_back(near(table.state(slot)[i], table.state_bounds(slot)[i]));
    optimizer_step<double>(table.table().optimizer, t, row, state, g);
    row.insert(row.end(), state.begin(), state.end());
    return row;
  }
};

Doubles joined(std::span<const float> values, std::span<const float> state) {
  Doubles all(values.begin(), values.end());
  all.insert(all.end(), state.begin(), state.end());
  return all;
}

TEST(BoundedStep, HoldsWhateverComesOfTheBoundsBefore) {
  for (const auto& choice : optimizers)
    for (const auto mode : {WeightDecay::l2, WeightDecay::decoupled})
      for (std::uint32_t seed = 0; seed < 40; ++seed) {
        const double width = seed % 2 == 0 ? 0.1 : 1e-3;
        UncertainRow row({.kind = choice.value,
                          .learning_rate = 0.25F,
                          .l1 = 0.125F,
                          .beta = 0.5F,
                          .weight_decay = seed % 3 == 0 ? 0.0F : 0.25F,
                          .weight_decay_mode = mode},
                         width, seed);
        std::mt19937 random(seed);
        std::vector<Doubles> samples;
        for (int i = 0; i < 300; ++i) samples.push_back(row.sampled(random));
        bounded_step(row.table, row.slot, row.t, row.gradient, row.errors);
        const Doubles centre = joined(row.table.values(row.slot), row.table.state(row.slot));
        const Doubles bounds = joined(row.table.value_bounds(row.slot), row.table.state_bounds(row.slot));
        double bound = 0.0, seen = 0.0;
        for (std::size_t i = 0; i < centre.size(); ++i) {
          double largest = 0.0;
          for (const Doubles& sample : samples) largest = std::max(largest, std::abs(sample[i] - centre[i]));
          EXPECT_LE(largest, bounds[i]) << choice.name << ", number " << i << ", seed " << seed;
          bound += bounds[i];
          seen += largest;
        }
        EXPECT_LT(bound, 4 * seen) << choice.name << ", seed " << seed;  // and is of use
      }
}

// A gradient of 0 that may be off by a rounding moves the row by no more than the learning rate.
TEST(BoundedStep, AGradientOfNothingButRoundingStaysBelowTheLearningRate) {
  for (const auto kind : {OptimizerKind::adagrad, OptimizerKind::rowwise_adagrad, OptimizerKind::rmsprop,
                          OptimizerKind::adam, OptimizerKind::rowwise_adam}) {
    TouchedTable table({.name = "A", .rows = 1, .dim = 1, .optimizer = {.kind = kind, .learning_rate = 0.25F}}, 0, {});
    const std::int64_t slot = table.touch(0);
    bounded_step(table, slot, 1, Doubles{0.0}, Doubles{1e-6});
    EXPECT_LT(table.value_bounds(slot)[0], kind == OptimizerKind::rmsprop ? 0.25 / std::sqrt(0.1) : 0.2501)
        << name_of(kind);
    EXPECT_GT(table.value_bounds(slot)[0], 0.2) << name_of(kind);
  }
}

}  // namespace
}  // namespace shardmark::reference
