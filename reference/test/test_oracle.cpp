// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "reference/error.hpp"
#include "reference/oracle.hpp"
#include "reference/rounding.hpp"

namespace shardmark::reference {
namespace {

using Floats = std::vector<float>;

constexpr RowValues unit_rows{.seed = 42, .unit = 1.0F};
constexpr GradientValues unit_gradients{.seed = 42, .unit = 1.0F};
constexpr Optimizer half{.kind = OptimizerKind::sgd, .learning_rate = 0.5F};

Floats values_of(const TouchedTable& table, std::int64_t row) {
  const auto values = table.values(table.find(row));
  return {values.begin(), values.end()};
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

// Tables A (dim 2) and B (dim 1); features f0: A sum, f1: A none, f2: B sum. Two samples:
//   f0: {1, 1, 3}, {}     f1: {3}, {0, 1}     f2: {2}, {2}
// Values and gradients worked out apart from this code (k of the random bits of seed 42, unit 1):
//   A0 = {33, -7}   A1 = {-13, 2}   A3 = {2, -58}   B2 = {7}
//   step 0: g(f0,s0) = {-2, 2}  g(f1,s0,0) = {-2, 3}   g(f1,s1,0) = {4, 3}   g(f1,s1,1) = {4, 4}   g(f2) = -3, 4
//   step 1: g(f0,s0) = {3, -1}  g(f1,s0,0) = {-1, -1}  g(f1,s1,0) = {-2, 0}  g(f1,s1,1) = {3, -4}  g(f2) = 0, 1
// so that A1 -= (2 g(f0,s0) + g(f1,s1,1)) / 2, A3 -= (g(f0,s0) + g(f1,s0,0)) / 2, A0 -= g(f1,s1,0) / 2.
class TwoTablesThreeFeatures : public testing::Test {
 protected:
  const std::vector<Table> tables_{{.name = "A", .rows = 4, .dim = 2, .optimizer = half},
                                   {.name = "B", .rows = 3, .dim = 1, .optimizer = half}};
  const std::vector<Feature> features_{{.name = "f0", .table = 0, .pooling = Pooling::sum},
                                       {.name = "f1", .table = 0, .pooling = Pooling::none},
                                       {.name = "f2", .table = 1, .pooling = Pooling::sum}};
  const Batch batch_{.samples = 2,
                     .features = 3,
                     .offsets = {0, 3, 3, 4, 6, 7, 8},
                     .indices = {1, 1, 3, 3, 0, 1, 2, 2},
                     .weights = {}};
  Oracle oracle_{tables_, features_, unit_rows, unit_gradients};

  Floats lookup(std::int64_t feature, std::int64_t first = 0, std::int64_t count = 2) {
    const Expected expected = oracle_.lookup(batch_, feature, first, count);
    EXPECT_EQ(expected.bounds, Floats(expected.values.size(), 0.0F));
    return expected.values;
  }
};

TEST_F(TwoTablesThreeFeatures, TwoStepsByHand) {
  EXPECT_EQ(lookup(0), (Floats{-24, -54, 0, 0}));  // 2 A1 + A3, nothing
  EXPECT_EQ(lookup(1), (Floats{2, -58, 33, -7, -13, 2}));
  EXPECT_EQ(lookup(2), (Floats{7, 7}));

  oracle_.update(batch_, 0);
  EXPECT_EQ(values_of(oracle_.table(0), 0), (Floats{31, -8.5F}));
  EXPECT_EQ(values_of(oracle_.table(0), 1), (Floats{-13, -2}));
  EXPECT_EQ(values_of(oracle_.table(0), 3), (Floats{4, -60.5F}));
  EXPECT_EQ(values_of(oracle_.table(1), 2), Floats{6.5F});
  EXPECT_EQ(oracle_.table(0).rows().size(), 3U);
  EXPECT_EQ(oracle_.table(1).rows().size(), 1U);

  EXPECT_EQ(lookup(0), (Floats{-22, -64.5F, 0, 0}));
  EXPECT_EQ(lookup(1), (Floats{4, -60.5F, 31, -8.5F, -13, -2}));
  EXPECT_EQ(lookup(2), (Floats{6.5F, 6.5F}));

  oracle_.update(batch_, 1);
  EXPECT_EQ(values_of(oracle_.table(0), 0), (Floats{32, -8.5F}));
  EXPECT_EQ(values_of(oracle_.table(0), 1), (Floats{-17.5F, 1}));
  EXPECT_EQ(values_of(oracle_.table(0), 3), (Floats{3, -59.5F}));
  EXPECT_EQ(values_of(oracle_.table(1), 2), Floats{6});
}

TEST_F(TwoTablesThreeFeatures, LookupOfSomeSamples) {
  EXPECT_EQ(lookup(1, 1, 1), (Floats{33, -7, -13, 2}));
  EXPECT_EQ(lookup(0, 1, 1), (Floats{0, 0}));
  EXPECT_EQ(lookup(2, 1, 0), Floats{});
}

TEST_F(TwoTablesThreeFeatures, UpdateNeedsNoLookupBefore) {
  oracle_.update(batch_, 0);
  EXPECT_EQ(lookup(1), (Floats{4, -60.5F, 31, -8.5F, -13, -2}));
}

// A mean bag of two equal ids hands half of its gradient to the row twice.
TEST(Oracle, RowwiseAdagradOfAMeanBag) {
  const Optimizer rowwise{
      .kind = OptimizerKind::rowwise_adagrad, .learning_rate = 1.0F, .epsilon = 2.0F, .initial_accumulator = 5.0F};
  Oracle oracle({{.name = "A", .rows = 2, .dim = 2, .optimizer = rowwise}},
                {{.name = "f0", .table = 0, .pooling = Pooling::mean}}, unit_rows, unit_gradients);
  const Batch batch{.samples = 1, .features = 1, .offsets = {0, 2}, .indices = {1, 1}, .weights = {}};
  EXPECT_EQ(oracle.lookup(batch, 0, 0, 1).values, (Floats{-13, 2}));
  oracle.update(batch, 0);  // g = {-2, 2}: s = 5 + 4 = 9, steps of 2 / (3 + 2)
  EXPECT_EQ(values_of(oracle.table(0), 1), (Floats{-12.6F, 1.6F}));
  EXPECT_EQ(oracle.table(0).state(0)[0], 9.0F);
}

TEST(Oracle, BagsWithoutDivisorGiveTheirRowsNoGradient) {
  Oracle oracle({{.name = "A", .rows = 4, .dim = 2, .optimizer = half}},
                {{.name = "f0", .table = 0, .pooling = Pooling::mean}}, unit_rows, unit_gradients);
  const Batch batch{.samples = 1, .features = 1, .offsets = {0, 2}, .indices = {1, 3}, .weights = {1.0F, -1.0F}};
  const Expected expected = oracle.lookup(batch, 0, 0, 1);
  EXPECT_EQ(expected.values, (Floats{0, 0}));
  EXPECT_EQ(expected.bounds, (Floats{0, 0}));
  oracle.update(batch, 0);
  EXPECT_EQ(values_of(oracle.table(0), 1), (Floats{-13, 2}));
}

TEST(Oracle, BitExactTables) {
  const auto exact = [](float unit, Optimizer optimizer, std::vector<Pooling> used) {
    std::vector<Feature> features{{.name = "other", .table = 1, .pooling = Pooling::mean}};
    for (const Pooling pooling : used) features.push_back({.name = "f", .table = 0, .pooling = pooling});
    const Oracle oracle({{.name = "A", .rows = 4, .dim = 2, .optimizer = optimizer},
                         {.name = "B", .rows = 4, .dim = 2, .optimizer = half}},
                        features, RowValues{.unit = unit}, {});
    EXPECT_FALSE(oracle.bit_exact(1));
    return oracle.bit_exact(0);
  };
  EXPECT_TRUE(exact(0x1p-4F, half, {}));
  EXPECT_TRUE(exact(0x1p-4F, half, {Pooling::sum, Pooling::none, Pooling::sum}));
  EXPECT_TRUE(exact(0x1p-4F, {.kind = OptimizerKind::sgd, .learning_rate = 0.0F}, {Pooling::sum}));
  EXPECT_FALSE(exact(0x1p-4F, half, {Pooling::sum, Pooling::mean}));
  EXPECT_FALSE(exact(0x1p-4F, half, {Pooling::sqrtn}));
  EXPECT_FALSE(exact(0.0F, half, {Pooling::sum}));
  EXPECT_FALSE(exact(0x1p-4F, {.kind = OptimizerKind::sgd, .learning_rate = 0.01F}, {Pooling::sum}));
  for (const OptimizerKind kind : {OptimizerKind::adagrad, OptimizerKind::rowwise_adagrad})
    EXPECT_FALSE(exact(0x1p-4F, {.kind = kind, .learning_rate = 0.5F}, {Pooling::sum}));
}

/// An oracle of one table of `rows` with one sum feature, and a batch of one bag of `count` ids 0 (33 units) with
/// weight.
struct OneBag {
  Oracle oracle;
  Batch batch;

  OneBag(const RowValues& rows, const GradientValues& gradients, Optimizer optimizer, std::int64_t count,
         Floats weights = {})
      : oracle({{.name = "A", .rows = 4, .dim = 1, .optimizer = optimizer}}, {{.name = "f0"}}, rows, gradients),
        batch{.samples = 1,
              .features = 1,
              .offsets = {0, count},
              .indices = std::vector<std::int64_t>(static_cast<std::size_t>(count), 0),
              .weights = std::move(weights)} {}

  std::string lookup() {
    return refusal_of([&] { oracle.lookup(batch, 0, 0, 1); });
  }
  std::string update() {
    return refusal_of([&] { oracle.update(batch, 0); });
  }
};

const std::string beyond =
    "exact mode: the sums of table A grow beyond 2^24 units, so they are no longer exact in fp32; use a smaller batch, "
    "fewer checked steps or exact=false";

TEST(Oracle, RefusesSumsBeyond24Bits) {
  constexpr std::int64_t most = (std::int64_t{1} << 24) / 33;
  EXPECT_EQ(OneBag(unit_rows, unit_gradients, half, most).lookup(), "accepted");
  EXPECT_EQ(OneBag(unit_rows, unit_gradients, half, most + 1).lookup(), beyond);
}

TEST(Oracle, CountsTheUnitsThatWeightsAdd) {
  EXPECT_EQ(OneBag(unit_rows, unit_gradients, half, 2, {1.0F, 0x1p-17F}).lookup(), "accepted");
  EXPECT_EQ(OneBag(unit_rows, unit_gradients, half, 2, {1.0F, 0x1p-19F}).lookup(), beyond);
  EXPECT_EQ(OneBag(unit_rows, unit_gradients, half, 2, {1.0F, 0x1p-17F}).update(), "accepted");
  EXPECT_EQ(OneBag(unit_rows, unit_gradients, half, 2, {1.0F, 0x1p-24F}).update(), beyond);
}

// Row 0 is 33; the gradients of its two ids are -2 each, so the update makes it 33 + 4 lr: the bag then sums 66 in
// units of 4 lr.
TEST(Oracle, CountsTheUnitsThatUpdatesAdd) {
  for (const auto& [learning_rate, verdict] : {std::pair{0x1p-19F, std::string("accepted")}, {0x1p-20F, beyond}}) {
    OneBag bag(unit_rows, unit_gradients, {.kind = OptimizerKind::sgd, .learning_rate = learning_rate}, 2);
    EXPECT_EQ(bag.lookup(), "accepted");
    EXPECT_EQ(bag.update(), "accepted");
    EXPECT_EQ(values_of(bag.oracle.table(0), 0), Floats{33 + 4 * learning_rate});
    EXPECT_EQ(bag.lookup(), verdict);
  }
}

// A maximum, and a row that was never updated, have no rounding.
TEST(Oracle, BoundsAreZeroOnlyWhereBitsMustBeEqual) {
  const Batch batch{.samples = 1, .features = 1, .offsets = {0, 3}, .indices = {0, 1, 1}, .weights = {}};
  for (const auto& optimizer : optimizers) {
    for (const auto& pooling : poolings) {
      for (const float unit : {0.0F, 1.0F}) {
        if (pooling.value == Pooling::max || optimizer.value == OptimizerKind::none) continue;
        SCOPED_TRACE(std::string(optimizer.name) + " " + std::string(pooling.name) + " " + std::to_string(unit));
        Oracle oracle(
            {{.name = "A", .rows = 2, .dim = 2, .optimizer = {.kind = optimizer.value, .learning_rate = 0.3F}}},
            {{.name = "f0", .table = 0, .pooling = pooling.value}}, {.seed = 42, .unit = unit}, {.seed = 5});
        EXPECT_FALSE(oracle.bit_exact(0));
        for (int step = 0; step < 3; ++step) {
          for (const float bound : oracle.lookup(batch, 0, 0, 1).bounds) EXPECT_GT(bound, 0.0F);
          oracle.update(batch, step);
          for (const std::int64_t slot : {0, 1}) {
            for (const float bound : oracle.table(0).value_bounds(slot)) EXPECT_GT(bound, 0.0F);
            for (const float bound : oracle.table(0).state_bounds(slot)) EXPECT_GT(bound, 0.0F);
          }
        }
      }
    }
  }
}

TEST(Oracle, BitExactTablesOfNarrowTypes) {
  for (const ValueType type : {ValueType::fp16, ValueType::bf16})
    for (const bool stochastic : {false, true}) {
      Oracle oracle({{.name = "A",
                      .rows = 4,
                      .dim = 2,
                      .optimizer = {.kind = OptimizerKind::sgd, .learning_rate = 0x1p-9F},
                      .value_type = type,
                      .stochastic_rounding = stochastic}},
                    {{.name = "f0", .table = 0, .pooling = Pooling::sum}}, unit_rows, unit_gradients);
      ASSERT_TRUE(oracle.bit_exact(0));
      const Batch batch{.samples = 1, .features = 1, .offsets = {0, 1}, .indices = {1}, .weights = {}};
      oracle.update(batch, 0);  // A1 = {-13, 2}, g = {-2, 2}
      const RowRounding rounding{.type = type, .stochastic = stochastic, .seed = 42, .step = 1, .table = 0, .row = 1};
      EXPECT_EQ(values_of(oracle.table(0), 1), (Floats{rounding(-13 + 0x1p-8F, 0), rounding(2 - 0x1p-8F, 1)}));
      for (const float bound : oracle.table(0).value_bounds(0)) EXPECT_EQ(bound, 0.0F);
    }
}

TEST(Oracle, TablesWithoutOptimizerStayAsTheyAre) {
  Oracle oracle({{.name = "A", .rows = 4, .dim = 2, .optimizer = {.kind = OptimizerKind::none}}},
                {{.name = "f0", .table = 0, .pooling = Pooling::sum}}, unit_rows, unit_gradients);
  EXPECT_TRUE(oracle.bit_exact(0));
  const Batch batch{.samples = 1, .features = 1, .offsets = {0, 1}, .indices = {1}, .weights = {}};
  oracle.update(batch, 0);
  EXPECT_EQ(oracle.lookup(batch, 0, 0, 1).values, (Floats{-13, 2}));
}

// An id whose bag gives it no gradient is named all the same: its momentum goes on.
TEST(Oracle, NamedRowsAreUpdatedWithoutAGradientToo) {
  const Optimizer momentum{.kind = OptimizerKind::momentum, .learning_rate = 1.0F, .momentum = 0.5F};
  Oracle oracle({{.name = "A", .rows = 4, .dim = 2, .optimizer = momentum}},
                {{.name = "f0", .table = 0, .pooling = Pooling::mean}}, unit_rows, unit_gradients);
  const Batch one{.samples = 1, .features = 1, .offsets = {0, 1}, .indices = {1}, .weights = {1.0F}};
  const Batch cancelled{.samples = 1, .features = 1, .offsets = {0, 2}, .indices = {1, 3}, .weights = {1.0F, -1.0F}};
  oracle.update(one, 0);  // A1 = {-13, 2}, g = {-2, 2}: m = {2, -2}
  EXPECT_EQ(values_of(oracle.table(0), 1), (Floats{-11, 0}));
  oracle.update(cancelled, 1);
  EXPECT_EQ(values_of(oracle.table(0), 1), (Floats{-10, -1}));
}

/// Table A, dim 2, of max pooling: A0 = {33, -7}, A1 = {-13, 2}, A3 = {2, -58}; g of step 0 = {-2, 2}.
Oracle max_oracle(float learning_rate = 0.5F) {
  return Oracle(
      {{.name = "A", .rows = 4, .dim = 2, .optimizer = {.kind = OptimizerKind::sgd, .learning_rate = learning_rate}}},
      {{.name = "f0", .table = 0, .pooling = Pooling::max}}, unit_rows, unit_gradients);
}

TEST(Oracle, MaxGivesItsGradientToTheRowsThatAttainIt) {
  Oracle oracle = max_oracle();
  EXPECT_FALSE(oracle.bit_exact(0));
  const Batch batch{.samples = 1, .features = 1, .offsets = {0, 3}, .indices = {0, 1, 1}, .weights = {}};
  const Expected expected = oracle.lookup(batch, 0, 0, 1);
  EXPECT_EQ(expected.values, (Floats{33, 2}));
  EXPECT_EQ(expected.bounds, (Floats{0, 0}));
  oracle.update(batch, 0);
  EXPECT_EQ(values_of(oracle.table(0), 0), (Floats{34, -7}));
  EXPECT_EQ(values_of(oracle.table(0), 1), (Floats{-13, 1}));  // half of 2 from both of its places
  for (const std::int64_t slot : {0, 1})
    for (const float bound : oracle.table(0).value_bounds(slot)) EXPECT_LT(bound, 1e-5F);
}

// 2 A0 and A0 A3 are equal, but A0 has a bound: either may get the whole gradient, and has half of it here.
TEST(Oracle, NearTiesOfAMaximumAreUncertain) {
  Oracle oracle = max_oracle(0.3F);
  const Batch first{.samples = 1, .features = 1, .offsets = {0, 1}, .indices = {0}, .weights = {}};
  oracle.update(first, 0);  // A0 = {33.6, -7.6}, with bounds
  const float a0 = values_of(oracle.table(0), 0)[0];
  const Batch tie{.samples = 1, .features = 1, .offsets = {0, 2}, .indices = {0, 3}, .weights = {2.0F, a0}};
  EXPECT_EQ(oracle.lookup(tie, 0, 0, 1).values[0], 2 * a0);  // A3 = {2, -58}
  oracle.update(tie, 1);                                     // g = {3, -1}
  const auto bounds_of = [&](std::int64_t row) { return oracle.table(0).value_bounds(oracle.table(0).find(row)); };
  EXPECT_NEAR(bounds_of(0)[0], 0.3F * 3 / 2 * 2, 0.01F);
  EXPECT_NEAR(bounds_of(3)[0], 0.3F * 3 / 2 * a0, 0.1F);
  EXPECT_LT(bounds_of(0)[1], 1e-4F);
  EXPECT_LT(bounds_of(3)[1], 1e-4F);
}

}  // namespace
}  // namespace shardmark::reference
