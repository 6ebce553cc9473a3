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

TEST(PooledLookup, MaxComparesTheWeightedRowsColumnByColumn) {
  EXPECT_EQ(pooled(Pooling::max, offsets, ids, {}), (Floats{3, -10, 0, 0, 5, -20}));
  EXPECT_EQ(pooled(Pooling::max, offsets, ids, weights), (Floats{12, -30, 0, 0, 2, -10}));
  EXPECT_EQ(pooled(Pooling::max, {0, 2}, {0, 2}, {-1, -1}), (Floats{-1, 30}));
}

using Added = std::map<std::pair<std::size_t, std::size_t>, double>;

template <class RowOf>
Added backward(Pooling pooling, RowOf&& row_of, const Ids& bag, const Floats& bag_weights, const Floats& gradient) {
  Added added;
  pool_bag_backward(pooling, row_of, bag, bag_weights, gradient, [&](std::size_t i, std::size_t c, double g) {
    added[{i, c}] += g;
  });
  return added;
}

Added backward(Pooling pooling, const Ids& bag, const Floats& bag_weights, const Floats& gradient) {
  return backward(pooling, row_of_table, bag, bag_weights, gradient);
}

TEST(PoolBagBackward, HandComputed) {
  EXPECT_EQ(backward(Pooling::sum, {0, 1}, {}, {5, 6}), (Added{{{0, 0}, 5}, {{0, 1}, 6}, {{1, 0}, 5}, {{1, 1}, 6}}));
  EXPECT_EQ(backward(Pooling::none, {0}, {0.5F}, {5, 6}), (Added{{{0, 0}, 2.5}, {{0, 1}, 3}}));
  EXPECT_EQ(backward(Pooling::mean, {0, 1}, {1, 3}, {8, 4}),
            (Added{{{0, 0}, 2}, {{0, 1}, 1}, {{1, 0}, 6}, {{1, 1}, 3}}));
  EXPECT_EQ(backward(Pooling::sqrtn, {0, 1}, {3, 4}, {5, 0}),
            (Added{{{0, 0}, 3}, {{0, 1}, 0}, {{1, 0}, 4}, {{1, 1}, 0}}));
  EXPECT_TRUE(backward(Pooling::mean, {0, 1}, {1, -1}, {5, 6}).empty());
  EXPECT_TRUE(backward(Pooling::sqrtn, {}, {}, {5, 6}).empty());
  EXPECT_TRUE(backward(Pooling::sum, {}, {}, {5, 6}).empty());
}

// Rows {1, -10}, {3, -30}: column 0 is the second's, column 1 the first's; equal products share.
TEST(PoolBagBackward, MaxGoesInEqualPartsToTheIdsThatAttainIt) {
  EXPECT_EQ(backward(Pooling::max, {0, 2}, {}, {5, 6}), (Added{{{1, 0}, 5}, {{0, 1}, 6}}));
  EXPECT_EQ(backward(Pooling::max, {2, 0, 2}, {}, {5, 6}), (Added{{{0, 0}, 2.5}, {{2, 0}, 2.5}, {{1, 1}, 6}}));
  EXPECT_EQ(backward(Pooling::max, {0, 2, 1}, {3, 1, 1}, {4, 8}),
            (Added{{{0, 0}, 6}, {{1, 0}, 2}, {{2, 1}, 8}}));  // 3 * 1 = 1 * 3 > 2; -20 is the largest of the others
  EXPECT_TRUE(backward(Pooling::max, {}, {}, {5, 6}).empty());
}

TEST(WeightGradients, HandComputed) {
  using Doubles = std::vector<double>;
  const auto gradients = [](Pooling pooling, const Ids& bag, const Floats& bag_weights) {
    return weight_gradients(pooling, row_of_table, bag, bag_weights, Floats{2, 0.5F});
  };
  // g . x = 2 r - 5 r = -3 r for r = id + 1
  EXPECT_EQ(gradients(Pooling::sum, {0, 2}, {3, 4}), (Doubles{-3, -9}));
  EXPECT_EQ(gradients(Pooling::none, {2}, {3}), (Doubles{-9}));
  EXPECT_EQ(gradients(Pooling::mean, {0, 2}, {1, 1}), (Doubles{1.5, -1.5}));  // (-3 + 6) / 2, (-9 + 6) / 2
  EXPECT_EQ(gradients(Pooling::mean, {0, 2}, {1, -1}), (Doubles{0, 0}));
  EXPECT_EQ(gradients(Pooling::max, {0, 2}, {1, 1}), (Doubles{-5, 6}));  // 0.5 * -10, 2 * 3
  // q = 5, g . y = (-9 - 36) / 5 = -9: (-3 + 9 * 3 / 5) / 5, (-9 + 9 * 4 / 5) / 5
  const Doubles sqrtn = gradients(Pooling::sqrtn, {0, 2}, {3, 4});
  EXPECT_NEAR(sqrtn[0], 0.48, 1e-15);
  EXPECT_NEAR(sqrtn[1], -0.36, 1e-15);
}

/// A bag of a random table, and the loss L = sum_c gradient[c] output[c]. Doubles, so that differences may be narrow.
struct RandomBag {
  static constexpr std::int64_t dim = 3, rows = 4;
  std::vector<std::vector<double>> table{rows, std::vector<double>(dim)};
  Ids bag;
  Floats weights, gradient = Floats(dim);

  RandomBag(std::uint32_t seed, bool weighted) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> real(-1.0F, 1.0F);
    for (auto& row : table)
      for (auto& x : row) x = real(random);
    bag.resize(1 + random() % 6);
    for (auto& id : bag) id = static_cast<std::int64_t>(random() % rows);
    weights.resize(weighted ? bag.size() : 0);
    for (auto& w : weights) w = 1.5F + real(random);
    for (auto& g : gradient) g = real(random);
  }

  auto row_of() const {
    return [this](std::int64_t id) { return table[id]; };
  }
  double loss(Pooling pooling) const {
    Floats output(dim);
    pool_bag(pooling, row_of(), bag, weights, output);
    double sum = 0.0;
    for (std::size_t c = 0; c < dim; ++c) sum += static_cast<double>(gradient[c]) * output[c];
    return sum;
  }
  /// Central difference of the loss; the outputs are floats, so it is off by 2^-24 / width.
  template <class X>
  double difference(Pooling pooling, X& x, X width) {
    const X middle = x;
    x = middle + width;
    const double above = loss(pooling);
    x = middle - width;
    const double below = loss(pooling);
    x = middle;
    return (above - below) / (2 * static_cast<double>(width));
  }
};

template <class Visit>
void for_each_random_bag(bool weighted, Visit&& visit) {
  for (std::uint32_t seed = 0; seed < 50; ++seed)
    for (const auto& choice : poolings) {
      RandomBag run(seed, weighted);
      if (choice.value == Pooling::none) run.bag.resize(1), run.weights.resize(weighted ? 1 : 0);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", pooling " + std::string(choice.name));
      visit(run, choice.value);
    }
}

// Linear in the rows but for max, where a random tie within the width of 2^-9 would show: the seeds have none.
TEST(PoolBagBackward, IsTheDerivativeOfTheLookup) {
  for (const bool weighted : {false, true})
    for_each_random_bag(weighted, [](RandomBag& run, Pooling pooling) {
      std::vector<std::vector<double>> derivative(RandomBag::rows, std::vector<double>(RandomBag::dim));
      for (const auto& [at, g] : backward(pooling, run.row_of(), run.bag, run.weights, run.gradient))
        derivative[run.bag[at.first]][at.second] += g;
      for (std::size_t r = 0; r < RandomBag::rows; ++r)
        for (std::size_t c = 0; c < RandomBag::dim; ++c)
          EXPECT_NEAR(derivative[r][c],
                      run.difference(pooling, run.table[r][c], pooling == Pooling::max ? 0x1p-9 : 1.0),
                      pooling == Pooling::max ? 2e-4 : 1e-5)
              << "row " << r << ", column " << c;
    });
}

TEST(WeightGradients, AreTheDerivativeOfTheLookup) {
  for_each_random_bag(true, [](RandomBag& run, Pooling pooling) {
    const auto derivative = weight_gradients(pooling, run.row_of(), run.bag, run.weights, run.gradient);
    for (std::size_t i = 0; i < run.bag.size(); ++i)
      EXPECT_NEAR(derivative[i], run.difference(pooling, run.weights[i], 0x1p-9F), 5e-4) << "id " << i;
  });
}

}  // namespace
}  // namespace shardmark::reference
