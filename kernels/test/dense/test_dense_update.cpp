// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "kernels/dense/dense_update.hpp"
#include "kernels/test/dense/copies.hpp"
#include "reference/dense/dense_step.hpp"

namespace shardmark::kernels::test {
namespace {

/// Off by the roundings of a few operations on numbers of this size.
void expect_near(std::span<const float> actual, std::span<const float> expected, const char* what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], 2e-6F * (1.0F + std::abs(expected[i]))) << what << " " << i;
}

TEST(DenseUpdate, IsTheStepOfTheReferenceOnAnyNumberOfValues) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const auto& choice : optimizers) {
    if (row_sum_count(choice.value) > 0) continue;
    for (const std::int64_t n : {0, 1, 15, 16, 1000, 4099})
      for (const WeightDecay mode : {WeightDecay::l2, WeightDecay::decoupled}) {
        SCOPED_TRACE(std::string(choice.name) + " " + std::to_string(n));
        const Optimizer optimizer{.kind = choice.value,
                                  .learning_rate = 0.05F,
                                  .initial_accumulator = 0.1F,
                                  .weight_decay = 0.01F,
                                  .weight_decay_mode = mode};
        reference::DenseParameters<float> expected{reference::Matrix<float>(n, 1)};
        for (float& w : expected[0].values) w = normal(random);
        auto state = reference::initial_dense_state(optimizer, expected);
        const auto values = computed_with(expected[0].values);
        std::vector<float> first(n), second(n);
        const auto vectors = static_cast<std::int64_t>(state[0].size()) / std::max<std::int64_t>(n, 1);
        if (vectors > 0) std::copy_n(state[0].begin(), n, first.begin());
        if (vectors > 1) std::copy_n(state[0].begin() + n, n, second.begin());
        const auto first_state = computed_with(first), second_state = computed_with(second);
        for (std::int64_t step = 1; step <= 3; ++step) {
          reference::DenseParameters<double> gradients{reference::Matrix<double>(n, 1)};
          std::vector<float> fp32(n);
          for (std::int64_t i = 0; i < n; ++i) gradients[0].values[i] = fp32[i] = normal(random);
          reference::dense_step(optimizer, step, gradients, expected, state);
          dense_update(optimizer, step, values, computed_with(fp32), first_state, second_state);
        }
        expect_near(computed(values), expected[0].values, "value");
        if (vectors > 0) expect_near(computed(first_state), std::span<const float>(state[0]).first(n), "first state");
        if (vectors > 1) expect_near(computed(second_state), std::span<const float>(state[0]).last(n), "second state");
      }
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
