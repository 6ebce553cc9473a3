// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "reference/pooled_lookup.hpp"

namespace shardmark::reference {
namespace {

using Ids = std::vector<std::int64_t>;
using Floats = std::vector<float>;

// Row r of the hand-computed cases: {r + 1, -10 (r + 1)}.
Floats row_of_table(std::int64_t id) {
  const auto x = static_cast<float>(id + 1);
  return {x, -10 * x};
}

Floats pooled(Pooling pooling, const Ids& offsets, const Ids& ids, const Floats& weights) {
  const std::int64_t vectors = pooling == Pooling::none ? std::ssize(ids) : std::ssize(offsets) - 1;
  Floats output(static_cast<std::size_t>(2 * vectors), 99.0F);
  pooled_lookup(pooling, row_of_table, offsets, ids, weights, 2, output);
  return output;
}

// Bags {0, 2}, {}, {1, 1, 1, 4}.
const Ids offsets{0, 2, 2, 6};
const Ids ids{0, 2, 1, 1, 1, 4};
const Floats weights{3.0F, 4.0F, 1.0F, 0.5F, 0.5F, 0.25F};

TEST(PooledLookup, Sum) {
  EXPECT_EQ(pooled(Pooling::sum, offsets, ids, {}), (Floats{4, -40, 0, 0, 11, -110}));
  EXPECT_EQ(pooled(Pooling::sum, offsets, ids, weights), (Floats{15, -150, 0, 0, 5.25F, -52.5F}));
}

TEST(PooledLookup, MeanDividesByTheSumOfTheWeights) {
  EXPECT_EQ(pooled(Pooling::mean, offsets, ids, {}), (Floats{2, -20, 0, 0, 2.75F, -27.5F}));
  // 15 / 7 and 5.25 / 2.25, rounded once.
  EXPECT_EQ(pooled(Pooling::mean, offsets, ids, weights),
            (Floats{2.142857142857F, -21.42857142857F, 0, 0, 2.333333333333F, -23.33333333333F}));
}

TEST(PooledLookup, SqrtnDividesByTheRootOfTheSumOfTheSquaredWeights) {
  EXPECT_EQ(pooled(Pooling::sqrtn, offsets, ids, {}),
            (Floats{2.828427124746F, -28.28427124746F, 0, 0, 5.5F, -55}));      // 4 / sqrt 2, 11 / 2
  EXPECT_EQ(pooled(Pooling::sqrtn, {0, 2}, {0, 2}, {3, 4}), (Floats{3, -30}));  // 15 / 5
}

TEST(PooledLookup, NoneGivesAVectorPerId) {
  EXPECT_EQ(pooled(Pooling::none, offsets, ids, {}), (Floats{1, -10, 3, -30, 2, -20, 2, -20, 2, -20, 5, -50}));
  EXPECT_EQ(pooled(Pooling::none, offsets, ids, weights),
            (Floats{3, -30, 12, -120, 2, -20, 1, -10, 1, -10, 1.25F, -12.5F}));
}

TEST(PooledLookup, WeightsThatCancelGiveZero) {
  EXPECT_EQ(pooled(Pooling::mean, {0, 2}, {0, 2}, {1, -1}), (Floats{0, 0}));
  EXPECT_EQ(pooled(Pooling::mean, {0, 2}, {0, 2}, {0, 0}), (Floats{0, 0}));
  EXPECT_EQ(pooled(Pooling::sqrtn, {0, 2}, {0, 2}, {0, 0}), (Floats{0, 0}));
  EXPECT_EQ(pooled(Pooling::sum, {0, 2}, {0, 2}, {1, -1}), (Floats{-2, 20}));
}

TEST(PooledLookup, NoBagsAndOnlyEmptyBags) {
  for (const auto& choice : poolings) {
    EXPECT_EQ(pooled(choice.value, {0}, {}, {}), Floats{}) << choice.name;
    const std::size_t vectors = choice.value == Pooling::none ? 0 : 3;
    EXPECT_EQ(pooled(choice.value, {0, 0, 0, 0}, {}, {}), Floats(2 * vectors, 0.0F)) << choice.name;
  }
}

TEST(PooledLookup, DivisorsAreSummedInDouble) {
  const Floats many(3000, 0.1F);
  EXPECT_NEAR(bag_divisor(Pooling::mean, 3000, many), 3000 * static_cast<double>(0.1F), 1e-9);
  EXPECT_EQ(bag_divisor(Pooling::mean, 3, {}), 3.0);
  EXPECT_EQ(bag_divisor(Pooling::sqrtn, 16, {}), 4.0);
  EXPECT_EQ(bag_divisor(Pooling::sum, 0, {}), 1.0);
  EXPECT_EQ(bag_divisor(Pooling::mean, 0, {}), 0.0);
}

std::map<std::pair<std::int64_t, std::int64_t>, double> backward(Pooling pooling, std::int64_t count,
                                                                 const Floats& bag_weights, const Floats& gradient) {
  std::map<std::pair<std::int64_t, std::int64_t>, double> added;
  pool_bag_backward(pooling, count, bag_weights, gradient, [&](std::int64_t i, std::int64_t c, double g) {
    added[{i, c}] += g;
  });
  return added;
}

TEST(PoolBagBackward, HandComputed) {
  using Added = std::map<std::pair<std::int64_t, std::int64_t>, double>;
  EXPECT_EQ(backward(Pooling::sum, 2, {}, {5, 6}), (Added{{{0, 0}, 5}, {{0, 1}, 6}, {{1, 0}, 5}, {{1, 1}, 6}}));
  EXPECT_EQ(backward(Pooling::none, 1, {0.5F}, {5, 6}), (Added{{{0, 0}, 2.5}, {{0, 1}, 3}}));
  EXPECT_EQ(backward(Pooling::mean, 2, {1, 3}, {8, 4}), (Added{{{0, 0}, 2}, {{0, 1}, 1}, {{1, 0}, 6}, {{1, 1}, 3}}));
  EXPECT_EQ(backward(Pooling::sqrtn, 2, {3, 4}, {5, 0}), (Added{{{0, 0}, 3}, {{0, 1}, 0}, {{1, 0}, 4}, {{1, 1}, 0}}));
  EXPECT_TRUE(backward(Pooling::mean, 2, {1, -1}, {5, 6}).empty());
  EXPECT_TRUE(backward(Pooling::sqrtn, 0, {}, {5, 6}).empty());
  EXPECT_TRUE(backward(Pooling::sum, 0, {}, {5, 6}).empty());
}

// L = sum_c gradient[c] output[c] is linear in the rows, so a central difference of any width is its derivative up to
// the rounding of the output to float.
TEST(PoolBagBackward, IsTheDerivativeOfTheLookup) {
  constexpr std::int64_t dim = 3, rows = 4;
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> real(-1.0F, 1.0F);
    std::vector<std::vector<double>> table(rows, std::vector<double>(dim));
    for (auto& row : table)
      for (auto& x : row) x = real(random);
    Ids bag(1 + random() % 6);
    for (auto& id : bag) id = static_cast<std::int64_t>(random() % rows);
    Floats bag_weights(seed % 2 == 0 ? 0 : bag.size());
    for (auto& w : bag_weights) w = 1.5F + real(random);
    Floats gradient(dim);
    for (auto& g : gradient) g = real(random);

    for (const auto& choice : poolings) {
      if (choice.value == Pooling::none && bag.size() > 1) continue;
      SCOPED_TRACE("seed " + std::to_string(seed) + ", pooling " + std::string(choice.name));
      const auto loss = [&] {
        Floats output(dim);
        pool_bag(
            choice.value, [&](std::int64_t id) { return table[static_cast<std::size_t>(id)]; }, bag, bag_weights,
            output);
        double sum = 0.0;
        for (std::size_t c = 0; c < dim; ++c) sum += static_cast<double>(gradient[c]) * output[c];
        return sum;
      };
      std::vector<std::vector<double>> derivative(rows, std::vector<double>(dim));
      for (const auto& [at, g] : backward(choice.value, std::ssize(bag), bag_weights, gradient))
        derivative[static_cast<std::size_t>(bag[static_cast<std::size_t>(at.first)])]
                  [static_cast<std::size_t>(at.second)] += g;
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < dim; ++c) {
          const double x = table[r][c];
          table[r][c] = x + 1;
          const double above = loss();
          table[r][c] = x - 1;
          const double below = loss();
          table[r][c] = x;
          EXPECT_NEAR(derivative[r][c], (above - below) / 2, 1e-5) << "row " << r << ", column " << c;
        }
      }
    }
  }
}

}  // namespace
}  // namespace shardmark::reference
