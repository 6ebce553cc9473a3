// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "reference/dense/exact_head.hpp"
#include "reference/dense/uncertain.hpp"
#include "reference/row_values.hpp"
#include "reference/test/dense/finite_differences.hpp"
#include "reference/test/dense/random_model.hpp"

namespace shardmark::reference {
namespace {

/// Sums of up to `ids` exact rows in each vector.
DenseInput<double> exact_input(std::span<const std::int64_t> widths, std::int64_t samples, std::int64_t ids,
                               std::uint64_t seed) {
  const RowValues values{.seed = seed, .unit = 0x1p-8F};
  DenseInput<double> input{{}, Matrix<double>(samples, 0), {}};
  for (std::int64_t f = 0; f < std::ssize(widths); ++f) {
    auto& vectors = input.vectors.emplace_back(samples, widths[f]);
    for (std::int64_t s = 0; s < samples; ++s)
      for (std::int64_t c = 0; c < widths[f]; ++c)
        for (std::int64_t i = 0; i < (s + f) % (ids + 1); ++i)
          vectors.at(s, c) += static_cast<double>(values(f, s * ids + i, c));
  }
  for (std::int64_t s = 0; s < samples; ++s) input.labels.push_back(static_cast<float>(mix(seed + s) % 2));
  return input;
}

TEST(ExactHead, WeightsAreSixPowersOfTwoAlikeOften) {
  const ExactHead head{.seed = 5};
  std::map<float, int> counts;
  for (std::int64_t f = 0; f < 30; ++f)
    for (std::int64_t c = 0; c < 200; ++c) ++counts[head(f, c) / head.unit];
  ASSERT_EQ(counts.size(), 6U);
  for (const float weight : {-4.0F, -2.0F, -1.0F, 1.0F, 2.0F, 4.0F}) EXPECT_NEAR(counts[weight], 1000, 120) << weight;
  EXPECT_EQ(head(3, 4), ExactHead{.seed = 5}(3, 4));
}

TEST(ExactHead, ByHand) {
  const ExactHead head{.seed = 1, .unit = 1.0F};
  const double a = static_cast<double>(head(0, 0)), b = static_cast<double>(head(0, 1)),
               c = static_cast<double>(head(1, 0));
  const DoubleMatrix e(3, 2, {3, 1, -3, -1, 3, 1}), f(3, 1, {0.5, 0, 0.5});
  const auto result = exact_pass(head, DenseInput<double>{{e, f}, DoubleMatrix(3, 0), {0, 0, 1}});
  const double z = 3 * a + b + 0.5 * c, w = -3 * a - b;
  EXPECT_EQ(result.logits, DoubleMatrix(3, 1, {z, w, z}));
  EXPECT_EQ(result.loss, std::max(z, 0.0) + std::max(w, 0.0) + std::max(z, 0.0) - z);
  for (std::int64_t s = 0; s < 3; ++s) {
    const double dz = (result.logits.values[s] > 0 ? 1 : 0) - (s == 2 ? 1 : 0);
    EXPECT_EQ(result.vector_gradients[0].at(s, 0), dz * a) << s;
    EXPECT_EQ(result.vector_gradients[0].at(s, 1), dz * b) << s;
    EXPECT_EQ(result.vector_gradients[1].at(s, 0), dz * c) << s;
  }
  EXPECT_TRUE(result.parameter_gradients.empty());
}

TEST(ExactHead, GradientsAreFiniteDifferences) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    DenseInput<double> input = random_input({.widths = {3, 1}}, 4, random);
    const ExactHead head{.seed = seed};
    const auto result = exact_pass(head, input);
    for (std::size_t f = 0; f < input.vectors.size(); ++f)
      expect_gradient(input.vectors[f], result.vector_gradients[f], [&] { return exact_pass(head, input).loss; });
  }
}

// Features, columns and samples in another order: other sums, the same bits.
TEST(ExactHead, SumsInFloatAreTheSameInAnyOrder) {
  const std::vector<std::int64_t> widths{64, 32, 128, 1};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const ExactHead head{.seed = seed};
    const DenseInput<double> input = exact_input(widths, 50, 20, seed);
    const auto right = exact_pass(head, input);
    std::vector<std::pair<std::size_t, std::int64_t>> cells;
    for (std::size_t f = 0; f < widths.size(); ++f)
      for (std::int64_t c = 0; c < widths[f]; ++c) cells.emplace_back(f, c);
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    for (int shuffle = 0; shuffle < 10; ++shuffle) {
      std::ranges::shuffle(cells, random);
      float loss = 0.0F;
      for (std::int64_t s = 49; s >= 0; --s) {
        float z = 0.0F;
        for (const auto& [f, c] : cells)
          z += static_cast<float>(input.vectors[f].at(s, c)) * head(static_cast<std::int64_t>(f), c);
        ASSERT_EQ(static_cast<double>(z), right.logits.at(s, 0)) << "seed " << seed << ", sample " << s;
        loss += std::max(z, 0.0F) - input.labels[s] * z;
      }
      ASSERT_EQ(static_cast<double>(loss), right.loss) << "seed " << seed;
    }
    EXPECT_EQ(converted<double>(exact_pass(head, converted<float>(input)).vector_gradients), right.vector_gradients);
  }
}

TEST(ExactHead, NothingIsUncertainAndGradientsAreSmallMultiples) {
  const DenseInput<double> input = exact_input(std::vector<std::int64_t>{16, 8}, 40, 5, 7);
  const auto result = exact_pass(ExactHead{.seed = 7}, converted<Uncertain>(input));
  int zero = 0, other = 0;
  EXPECT_EQ(result.loss.error, 0.0);
  for (const auto& z : result.logits.values) EXPECT_EQ(z.error, 0.0);
  for (const auto& gradients : result.vector_gradients)
    for (const auto& g : gradients.values) {
      EXPECT_EQ(g.error, 0.0);
      const double multiple = std::abs(g.value) * 0x1p6;
      EXPECT_TRUE(multiple == 0 || multiple == 1 || multiple == 2 || multiple == 4) << multiple;
      ++(multiple == 0 ? zero : other);
    }
  EXPECT_GT(zero, 100);
  EXPECT_GT(other, 100);
}

}  // namespace
}  // namespace shardmark::reference
