// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/dense/dense_oracle.hpp"
#include "reference/dense/dense_step.hpp"
#include "reference/test/dense/any_order.hpp"
#include "reference/test/dense/random_model.hpp"

namespace shardmark::reference {
namespace {

Matrix<Uncertain> uncertain_matrix(std::int64_t rows, std::int64_t columns, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Matrix<Uncertain> result(rows, columns);
  for (Uncertain& x : result.values)
    x = {normal(random) / 3, random() % 2 == 0 ? 0.0 : 1e-3 * std::abs(normal(random))};
  return result;
}

TEST(UncertainProduct, HasTheSumsAndErrorsOfEachElement) {
  std::mt19937 random(9);
  for (const std::int64_t m : {0, 1, 4, 6})
    for (const std::int64_t n : {1, 7, 8, 21})
      for (const std::int64_t k : {0, 3, 8, 100}) {
        const auto a = uncertain_matrix(m, k, random), b = uncertain_matrix(n, k, random);
        const auto product = product_transposed(a, b);
        ASSERT_TRUE(product.same_shape(Matrix<Uncertain>(m, n)));
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j) {
            const Uncertain right = sum_of_products(a.row(i), b.row(j)), found = product.at(i, j);
            ASSERT_NEAR(right.value, found.value, 1e-13) << m << n << k;
            ASSERT_NEAR(right.error, found.error, 1e-9 * right.error) << m << " " << n << " " << k;
          }
      }
  Matrix<Uncertain> zeros(8, 8);
  EXPECT_EQ(0.0, product_transposed(zeros, zeros).at(3, 3).error);
}

/// The same steps in fp32, with sums in an order of their own; `spoil` is added to the gradient of the last bias.
struct FloatTraining {
  DenseParameters<float> parameters;
  DenseState<float> state;

  void step(const DenseSpec& spec, const Optimizer& optimizer, std::int64_t t, const DenseInput<double>& input,
            double spoil) {
    const auto samples = std::ssize(input.labels);
    const auto pass = dense_pass(spec, converted<AnyOrder>(parameters), converted<AnyOrder>(input), samples);
    auto gradients = converted<double>(pass.parameter_gradients);
    gradients.back().values.front() += spoil;
    dense_step(optimizer, t, gradients, parameters, state);
  }
};

std::int64_t count_outside(const DenseOracle& oracle, const FloatTraining& training) {
  std::int64_t outside = 0;
  for (std::size_t b = 0; b < oracle.blocks().size(); ++b) {
    const TouchedTable& block = oracle.blocks()[b];
    for (std::int64_t row = 0; row < block.table().rows; ++row)
      for (std::int64_t c = 0; c < block.table().dim; ++c)
        outside += !(std::abs(training.parameters[b].at(row, c) - block.values(row)[c]) <= block.value_bounds(row)[c]);
  }
  return outside;
}

/// Steps of which each sees the batch in two parts.
std::int64_t wrong_after_steps(const DenseSpec& spec, OptimizerKind kind, double spoil) {
  std::mt19937 random(2);
  const Optimizer optimizer{.kind = kind, .learning_rate = 0.05F, .initial_accumulator = 0.1F};
  DenseOracle oracle(spec, optimizer, 4, 11);
  FloatTraining training{initial_dense(spec, 4), {}};
  training.state = initial_dense_state(optimizer, training.parameters);
  for (std::int64_t t = 1; t <= 2; ++t) {
    const auto first = random_input(spec, 5, random), second = random_input(spec, 6, random);
    DenseGradients gradients(oracle.parameter_count());
    DenseInput<double> whole = first;
    for (std::size_t f = 0; f < whole.vectors.size(); ++f) {
      whole.vectors[f].rows += 6;
      whole.vectors[f].values.insert(whole.vectors[f].values.end(), second.vectors[f].values.begin(),
                                     second.vectors[f].values.end());
    }
    whole.numerical.rows += 6;
    whole.numerical.values.insert(whole.numerical.values.end(), second.numerical.values.begin(),
                                  second.numerical.values.end());
    whole.labels.insert(whole.labels.end(), second.labels.begin(), second.labels.end());
    for (const auto& part : {first, second}) gradients.add(oracle.pass(converted<Uncertain>(part)));
    gradients.sum_in_one(11);
    oracle.update(t, gradients);
    training.step(spec, optimizer, t, whole, spoil);
  }
  return count_outside(oracle, training);
}

TEST(DenseOracle, BoundsHoldForStepsInFp32) {
  for (const auto& [name, spec] : small_models)
    for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adagrad, OptimizerKind::adam})
      EXPECT_EQ(0, wrong_after_steps(spec, kind, 0.0)) << name << " " << name_of(kind);
}

TEST(DenseOracle, NoticesAGradientThatIsOff) {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adagrad, OptimizerKind::adam})
    EXPECT_LT(0, wrong_after_steps(small_models.front().second, kind, 1e-2)) << name_of(kind);
}

}  // namespace
}  // namespace shardmark::reference
