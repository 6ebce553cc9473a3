// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "reference/oracle.hpp"
#include "reference/tensor_train/cached_tt.hpp"

namespace shardmark::reference {
namespace {

constexpr std::int64_t rows = 120;

Table table_of(OptimizerKind optimizer, std::int64_t cached) {
  Table table{.name = "A",
              .rows = rows,
              .dim = 6,
              .optimizer = {.kind = optimizer, .learning_rate = 0.05F, .initial_accumulator = 0.1F},
              .storage = Storage::tt};
  table.tensor_train.row_shape = {4, 5, 6};
  table.tensor_train.dim_shape = {3, 1, 2};
  table.tensor_train.ranks = {3, 2};
  table.tensor_train.cache = {.rows = cached, .count_slots = 16, .populate_every = 2};
  return table;
}

/// Few rows that are named often, others in each step; after eight steps the same again.
std::map<std::int64_t, std::int64_t> drifting_uses(std::int64_t step, std::mt19937& random) {
  std::map<std::int64_t, std::int64_t> uses;
  for (int i = 0; i < 30; ++i) ++uses[(step % 8 * 3 + static_cast<std::int64_t>(random()) % 12) % rows];
  for (int i = 0; i < 6; ++i) ++uses[static_cast<std::int64_t>(random()) % rows];
  return uses;
}

struct Values {
  std::vector<float> values = std::vector<float>(6), bounds = std::vector<float>(6);
};

std::vector<Values> all_rows(CachedTt& tt) {
  std::vector<Values> all(rows);
  for (std::int64_t row = 0; row < rows; ++row) tt.row(row, all[row].values, all[row].bounds);
  return all;
}

BoundedGradient gradient_of(std::int64_t row, std::int64_t step) {
  BoundedGradient gradient{.value = {}, .magnitude = {}, .error = std::vector<double>(6, 0.0)};
  for (std::int64_t c = 0; c < 6; ++c) gradient.value.push_back(GradientValues{.seed = 3}(step, 0, row, 0, c));
  for (const double g : gradient.value) gradient.magnitude.push_back(std::abs(g));
  return gradient;
}

/// A choice of cached rows follows each second step. The same step without the choice gives the same values: only what
/// stands for them changes.
TEST(CachedTt, AChoiceOfRowsChangesNoValue) {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adagrad})
    for (std::uint32_t seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(std::string(name_of(kind)) + ", seed " + std::to_string(seed));
      std::mt19937 random(seed);
      CachedTt tt(table_of(kind, 8), 0, {.seed = seed, .scale = 0.5F});
      double widest = 0.0;
      std::set<std::int64_t> once_cached;
      for (std::int64_t step = 1; step <= 20; ++step) {
        for (const auto& [row, uses] : drifting_uses(step, random))
          tt.add_gradient(row, uses, gradient_of(row, step), step);
        if (step % 2 == 1) {
          tt.finish(step);
          continue;
        }
        tt.update_slices(step);
        const auto before = all_rows(tt);
        const auto cached = tt.cached().rows();
        tt.populate();
        once_cached.insert(cached.begin(), cached.end());
        const auto out = [&](std::int64_t row) { return tt.cached().find(row) < 0; };
        ASSERT_EQ(tt.differences(), std::ranges::count_if(once_cached, out));
        const auto after = all_rows(tt);
        for (std::int64_t row = 0; row < rows; ++row)
          for (std::size_t c = 0; c < 6; ++c) {
            const double bound = double{before[row].bounds[c]} + double{after[row].bounds[c]};
            ASSERT_NEAR(before[row].values[c], after[row].values[c], 1e-6) << "row " << row << ", step " << step;
            ASSERT_NEAR(before[row].values[c], after[row].values[c], bound) << "row " << row << ", step " << step;
            widest = std::max(widest, bound);
          }
      }
      EXPECT_GT(tt.cache().counts().evictions, 0);
      EXPECT_GT(tt.cache().counts().hits, 0);
      EXPECT_LT(widest, kind == OptimizerKind::sgd ? 1e-2 : 1e9);
    }
}

/// What a row has learned while it was cached it keeps when it leaves, beside cores that learned nothing from it.
TEST(CachedTt, CachedRowsAloneAreTrained) {
  CachedTt tt(table_of(OptimizerKind::adagrad, 1), 0, {.seed = 1, .scale = 0.5F});
  tt.add_gradient(7, 9, gradient_of(7, 0), 1);
  tt.finish(1);
  tt.finish(2);  // 7 enters
  ASSERT_EQ(tt.cached().rows(), std::vector<std::int64_t>{7});
  for (const float s : tt.cached().state(0)) EXPECT_EQ(s, 0.1F);
  const std::vector<float> before(tt.cached().values(0).begin(), tt.cached().values(0).end());
  const std::vector<TouchedTable> cores(tt.parts().begin(), tt.parts().end());
  const auto gradient = gradient_of(7, 1);
  tt.add_gradient(7, 1, gradient, 3);
  tt.finish(3);
  for (std::size_t c = 0; c < 6; ++c) {
    const double g = gradient.value[c], state = static_cast<double>(0.1F) + g * g;
    EXPECT_NEAR(tt.cached().state(0)[c], state, 1e-6);
    EXPECT_NEAR(tt.cached().values(0)[c], before[c] - (g == 0.0 ? 0.0 : 0.05 * g / (std::sqrt(state) + 1e-8)), 1e-6);
  }
  for (int t = 0; t < 3; ++t)
    for (std::int64_t slot = 0; slot < std::ssize(cores[t].rows()); ++slot)
      EXPECT_TRUE(std::ranges::equal(cores[t].values(slot), tt.parts()[t].values(slot)));
  const Values learned = all_rows(tt)[7];
  tt.add_gradient(80, 30, gradient_of(80, 3), 4);  // shares no slice with 7
  tt.finish(4);
  ASSERT_EQ(tt.cached().rows(), std::vector<std::int64_t>{80});
  for (std::size_t c = 0; c < 6; ++c) EXPECT_NEAR(all_rows(tt)[7].values[c], learned.values[c], 1e-6);
}

TEST(CachedTt, UncachedTablesHaveTheProductsAlone) {
  CachedTt none(table_of(OptimizerKind::sgd, 0), 0, {.seed = 1, .scale = 0.5F});
  Table copies_of = table_of(OptimizerKind::sgd, 4);
  copies_of.tensor_train.cache.writes = CacheWrites::read_only;
  CachedTt copies(copies_of, 0, {.seed = 1, .scale = 0.5F});
  std::mt19937 random(1);
  for (std::int64_t step = 1; step <= 6; ++step) {
    for (const auto& [row, uses] : drifting_uses(step, random))
      for (CachedTt* tt : {&none, &copies}) tt->add_gradient(row, uses, gradient_of(row, step), step);
    none.finish(step);
    copies.finish(step);
    for (std::int64_t row = 0; row < rows; ++row) EXPECT_EQ(all_rows(none)[row].values, all_rows(copies)[row].values);
  }
}

}  // namespace
}  // namespace shardmark::reference
