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
    return after(
        [&](double x, double error) { return x + error * std::uniform_real_distribution<double>(-1.0, 1.0)(random); });
  }

  /// The same, but of any magnitude below the bounds.
  Doubles sampled_near(std::mt19937& random) const {
    return after([&](double x, double error) {
      const double part = std::pow(10.0, std::uniform_real_distribution<double>(-6.0, 0.0)(random));
      const double moved = (random() % 2 == 0 ? error : -error) * part;
      return std::abs(moved) < error && random() % 2 == 0 && std::abs(x) + std::abs(moved) < error ? moved : x + moved;
    });
  }

  /// Values and state after the step of near(x, its bound) for all x.
  template <class Near>
  Doubles after(const Near& near) const {
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

// A gradient that is nothing but rounding of far larger terms: the step turns between the ends of what it may be.
TEST(BoundedStep, HoldsWhereAGradientMayBeAnything) {
  for (const auto& choice : optimizers)
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
      UncertainRow row({.kind = choice.value,
                        .learning_rate = seed % 4 == 1 ? 0.01F : 0.25F,
                        .epsilon = seed % 3 == 0 ? 1e-2F : 1e-8F,
                        .l1 = 0.125F,
                        .beta = 0.5F,
                        .weight_decay = seed % 2 == 0 ? 0.0F : 0.25F,
                        .weight_decay_mode = seed % 5 < 2 ? WeightDecay::l2 : WeightDecay::decoupled},
                       1e-6, seed);
      std::mt19937 random(seed);
      std::uniform_real_distribution<double> exponent(-4.0, 3.0);
      for (double& error : row.errors) error = std::pow(10.0, exponent(random));
      for (float& state : row.table.state(row.slot))
        state *= static_cast<float>(std::pow(10.0, exponent(random) - 2.0));
      std::vector<Doubles> samples;
      for (int i = 0; i < 1000; ++i) samples.push_back(row.sampled_near(random));
      bounded_step(row.table, row.slot, row.t, row.gradient, row.errors);
      const Doubles centre = joined(row.table.values(row.slot), row.table.state(row.slot));
      const Doubles bounds = joined(row.table.value_bounds(row.slot), row.table.state_bounds(row.slot));
      for (std::size_t i = 0; i < centre.size(); ++i)
        for (const Doubles& sample : samples)
          ASSERT_LE(std::abs(sample[i] - centre[i]), bounds[i]) << choice.name << ", number " << i << ", seed " << seed;
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
