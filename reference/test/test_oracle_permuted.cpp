// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "reference/test/oracle_case.hpp"

namespace shardmark::reference {
namespace {

using Order = std::vector<std::int64_t>;  ///< place in what is permuted -> number in what is not

Order random_order(std::int64_t count, std::mt19937& random) {
  Order order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random);
  return order;
}

/// Tables, features and batches whose ids are of any table, drawn, and the same in other orders.
struct Permuted {
  std::vector<Table> tables, permuted_tables;
  std::vector<Feature> features, permuted_features;
  Batch batch, permuted_batch;
  Order table_order, feature_order, sample_order;
  Order place_of_table;  ///< number -> place

  Permuted(const Optimizer& optimizer, bool of_tables, std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto draw = [&](std::int64_t least, std::int64_t most) {
      return std::uniform_int_distribution<std::int64_t>(least, most)(random);
    };
    const std::int64_t rows = seed % 2 == 0 ? 3 : 40;
    for (std::int64_t t = draw(1, 4); t > 0; --t)
      tables.push_back({.name = "A" + std::to_string(t), .rows = rows, .dim = draw(1, 5), .optimizer = optimizer});
    for (std::int64_t f = draw(1, 6); f > 0; --f)
      features.push_back({.name = "f" + std::to_string(f),
                          .table = draw(0, std::ssize(tables) - 1),
                          .pooling = poolings[static_cast<std::size_t>(draw(0, std::ssize(poolings) - 1))].value});
    batch = random_batch(std::ssize(features), rows, of_tables && seed % 3 == 0, seed);
    table_order = random_order(std::ssize(tables), random);
    if (!of_tables) std::ranges::sort(table_order);
    feature_order = random_order(std::ssize(features), random);
    sample_order = random_order(batch.samples, random);
    place_of_table.resize(table_order.size());
    for (std::size_t place = 0; place < table_order.size(); ++place) {
      place_of_table[table_order[place]] = static_cast<std::int64_t>(place);
      permuted_tables.push_back(tables[table_order[place]]);
    }
    permuted_batch = {
        .samples = batch.samples, .features = batch.features, .offsets = {0}, .indices = {}, .weights = {}};
    for (const std::int64_t f : feature_order) {
      permuted_features.push_back(features[f]);
      permuted_features.back().table = place_of_table[features[f].table];
      for (const std::int64_t s : sample_order) {
        for (std::int64_t i = batch.offsets[f * batch.samples + s]; i < batch.offsets[f * batch.samples + s + 1]; ++i) {
          permuted_batch.indices.push_back(batch.indices[i]);
          if (!batch.weights.empty()) permuted_batch.weights.push_back(batch.weights[i]);
        }
        permuted_batch.offsets.push_back(permuted_batch.nnz());
      }
    }
  }
};

void expect_near(std::span<const float> a, std::span<const float> a_bounds, std::span<const float> b,
                 std::span<const float> b_bounds, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_LE(std::abs(double{a[i]} - b[i]), double{a_bounds[i]} + b_bounds[i]) << what << ", number " << i;
}

/// Two steps of both. Initial values and gradients are made from the numbers of tables, features and samples: tables in
/// another order start from 0, and gradients are those of the numbers that are not permuted.
void expect_permuted(const Optimizer& optimizer, float unit, std::uint32_t seed) {
  const Permuted both(optimizer, unit == 0.0F, seed);
  const RowValues rows{.seed = seed, .scale = 0.0F, .unit = unit};
  const GradientValues gradients{.seed = seed};
  const std::string name = std::string(name_of(optimizer.kind)) + ", seed " + std::to_string(seed);
  Oracle oracle(both.tables, both.features, rows, gradients);
  Oracle permuted(both.permuted_tables, both.permuted_features, rows, gradients);
  for (std::int64_t step = 0; step < 2; ++step) {
    for (std::size_t f = 0; f < both.feature_order.size(); ++f)
      for (std::size_t s = 0; s < both.sample_order.size(); ++s) {
        const Expected one = oracle.lookup(both.batch, both.feature_order[f], both.sample_order[s], 1);
        const Expected other =
            permuted.lookup(both.permuted_batch, static_cast<std::int64_t>(f), static_cast<std::int64_t>(s), 1);
        expect_near(one.values, one.bounds, other.values, other.bounds, name + ", an output");
      }
    oracle.update(both.batch, step);
    const BagGradients base = bag_gradients(gradients, step);
    permuted.update(both.permuted_batch, step,
                    [&](std::int64_t feature, const Bag& bag, std::span<float> gradient, std::span<float> bounds) {
                      Bag before = bag;
                      before.sample = both.sample_order[bag.sample];
                      base(both.feature_order[feature], before, gradient, bounds);
                    });
  }
  for (std::size_t t = 0; t < both.tables.size(); ++t) {
    const TouchedTable &one = oracle.table(t), &other = permuted.table(both.place_of_table[t]);
    ASSERT_EQ(one.rows().size(), other.rows().size());
    for (std::int64_t slot = 0; slot < std::ssize(one.rows()); ++slot) {
      const std::int64_t there = other.find(one.rows()[slot]);
      ASSERT_GE(there, 0);
      expect_near(one.values(slot), one.value_bounds(slot), other.values(there), other.value_bounds(there),
                  name + ", a row");
      expect_near(one.state(slot), one.state_bounds(slot), other.state(there), other.state_bounds(there),
                  name + ", the state of a row");
    }
  }
}

TEST(Oracle, PermutedFeaturesSamplesAndTablesGivePermutedResults) {
  for (const auto& choice : optimizers)
    for (std::uint32_t seed = 0; seed < 30; ++seed) {
      const Optimizer optimizer{.kind = choice.value, .learning_rate = 0.25F, .epsilon = 1e-3F};
      expect_permuted(optimizer, 0.0F, seed);
      expect_permuted(optimizer, 1.0F, seed);
    }
}

}  // namespace
}  // namespace shardmark::reference
