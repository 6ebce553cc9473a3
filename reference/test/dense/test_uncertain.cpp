// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "reference/dense/uncertain.hpp"
#include "reference/test/dense/any_order.hpp"
#include "reference/test/dense/random_model.hpp"

namespace shardmark::reference {
namespace {

TEST(Uncertain, ExactSumsHaveNoError) {
  const std::vector<Uncertain> a{0.5, -3.0, 1024.0}, b{1.0, 0.25, 2.0}, thirds(3, Uncertain(1.0 / 3.0));
  EXPECT_EQ(sum_of_products(std::span<const Uncertain>(a), std::span<const Uncertain>(b)).error, 0.0);
  EXPECT_GT(sum_of_products(std::span<const Uncertain>(a), std::span<const Uncertain>(thirds)).error, 0.0);
  EXPECT_EQ((Uncertain(0.5) + Uncertain(3.0)).error, 0.0);
  EXPECT_EQ((Uncertain(0.5) * Uncertain(3.0)).error, 0.0);
  EXPECT_EQ((Uncertain(1.0) + Uncertain(0x1p-30)).error, 0x1p-30);  // what fp32 drops
}

TEST(Uncertain, WhatMayLeaveFp32HasNoBound) {
  const Uncertain large(0x1p70);
  const std::vector<Uncertain> a{1.0, large}, b{1.0, large};
  for (const Uncertain& x :
       {large * large, sum_of_products(std::span<const Uncertain>(a), std::span<const Uncertain>(b)),
        Uncertain(0x1p125) + Uncertain(0x1p125), Uncertain(1.0, 0x1p125) + Uncertain(1.0)}) {
    EXPECT_EQ(x.bound(), INFINITY) << x.value;
    EXPECT_FALSE((x * Uncertain(0.0)).bound() < INFINITY);
    EXPECT_FALSE(relu(x * Uncertain(0.0)).bound() < INFINITY);
    EXPECT_EQ(step(x).error, 1.0);
  }
  EXPECT_EQ((large + large).error, 0.0);
}

TEST(Uncertain, GradientsOfLogitsThatDivergeHaveNoBound) {
  EXPECT_LT(logit_gradient(Uncertain(-0x1p23), 0.0F).bound(), 1e-30);
  for (const Uncertain& z : {Uncertain(-0x1p25), Uncertain(0x1p25), Uncertain(0.0, 0x1p22), Uncertain(NAN)})
    EXPECT_EQ(logit_gradient(z, 0.0F).bound(), INFINITY) << z.value;
}

/// Weights behind an adaptive optimizer may have errors larger than themselves, where first-order terms say little.
TEST(Uncertain, ErrorsLargerThanValuesAreCounted) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  const Uncertain a(1e-3, 0.1), b(0.0, 0.3), z(-9.0, 1.0);
  const std::vector<Uncertain> row(12, a), column(12, b);
  Matrix<Uncertain> one(1, 12), other(12, 12);
  std::ranges::fill(one.values, a);
  std::ranges::fill(other.values, b);
  const Uncertain product = a * b, sum = sum_of_products(std::span<const Uncertain>(row), column),
                  in_tiles = product_transposed(one, other).at(0, 11), gradient = logit_gradient(z, 1.0F);
  EXPECT_NEAR(in_tiles.error, sum.error, 1e-6);
  EXPECT_NEAR(in_tiles.in_sums, sum.in_sums, 1e-6);
  double of_product = 0.0, of_sum = 0.0;
  constexpr int draws = 20'000;
  const auto drawn = [&](const Uncertain& x) { return x.value + x.error * normal(random); };
  for (int i = 0; i < draws; ++i) {
    of_product += std::pow(drawn(a) * drawn(b) - product.value, 2) / draws;
    double drawn_sum = 0.0;
    for (std::size_t k = 0; k < row.size(); ++k) drawn_sum += drawn(row[k]) * drawn(column[k]);
    of_sum += std::pow(drawn_sum - sum.value, 2) / draws;
    const double there = z.value + Uncertain::confidence * std::clamp(normal(random) / 3, -0.999, 0.999) * z.error;
    EXPECT_LE(std::abs(logit_gradient(there, 1.0F) - gradient.value), gradient.bound()) << there;
    EXPECT_LE(std::abs(logit_loss(there, 1.0F) - logit_loss(z, 1.0F).value), logit_loss(z, 1.0F).bound()) << there;
  }
  EXPECT_NEAR(product.error / std::sqrt(of_product), 1.0, 0.05);
  EXPECT_NEAR(sum.error / std::sqrt(of_sum), 1.0, 0.05);
}

TEST(Uncertain, GradientBehindAReluThatMayBeOffIsUncertain) {
  const Uncertain g(-3.0, 0.1);
  EXPECT_EQ(relu_backward(relu(Uncertain(1.0, 0.1)), g).error, 0.1);
  EXPECT_EQ(relu_backward(relu(Uncertain(1.0, 0.1)), g).value, -3.0);
  for (const double z : {0.7, -0.7}) {
    const Uncertain backward = relu_backward(relu(Uncertain(z, 0.1)), g);
    EXPECT_EQ(backward.value, z > 0 ? -3.0 : 0.0);
    EXPECT_GE(backward.bound(), 3.0) << z;
  }
  EXPECT_EQ(relu_backward(relu(Uncertain(-1.0, 0.1)), g).bound(), 0.0);
  EXPECT_EQ(step(Uncertain(-1.0, 0.1)).bound(), 0.0);
  EXPECT_GE(step(Uncertain(-0.7, 0.1)).bound(), 1.0);
}

// e^-95 is a subnormal float, and e^-120 is 0; so are the gradients that they make.
TEST(Uncertain, FarLogitsAreFlushed) {
  for (const double z : {-87.0, -95.0, -100.0, -120.0}) {
    const Uncertain right = logit_gradient(Uncertain(z), 0.0F);
    for (const float found : {0.0F, logit_gradient(static_cast<float>(z), 0.0F)}) {
      if (found == 0.0F && z > -88.0) continue;
      EXPECT_LE(std::abs(static_cast<double>(found) - right.value), right.bound()) << z;
    }
    const Uncertain product = right * Uncertain(0x1p-20);
    EXPECT_LE(std::abs(product.value), product.bound()) << z;
  }
  EXPECT_LT(logit_gradient(Uncertain(-60.0), 0.0F).bound(), 1e-30);
}

/// How far fp32 evaluations are from what is right, in standard errors, and how large those are.
struct Distance {
  double farthest = 0.0;               ///< of values that have an error
  std::int64_t moved_for_nothing = 0;  ///< values off without any
  std::vector<double> relative;        ///< errors over the largest magnitude of the matrix

  template <class Float>
  void see(const Matrix<Uncertain>& right, const Matrix<Float>& found) {
    double largest = 0.0;
    for (const Uncertain& x : right.values) largest = std::max(largest, std::abs(x.value));
    for (std::size_t i = 0; i < right.values.size(); ++i) {
      const double value = right.values[i].value, error = right.values[i].error;
      const double off = std::abs(static_cast<double>(found.values[i]) - value);
      if (error > 0.0) farthest = std::max(farthest, off / error);
      if (error == 0.0 && off > 0.0) ++moved_for_nothing;
      if (largest > 0.0) relative.push_back(error / largest);
    }
  }
  template <class Float>
  void see(const DenseResult<Uncertain>& right, const DenseResult<Float>& found) {
    see(right.logits, found.logits);
    see({1, 1, {right.loss}}, Matrix<Float>(1, 1, {found.loss}));
    for (std::size_t f = 0; f < right.vector_gradients.size(); ++f)
      see(right.vector_gradients[f], found.vector_gradients[f]);
    for (std::size_t b = 0; b < right.parameter_gradients.size(); ++b)
      see(right.parameter_gradients[b], found.parameter_gradients[b]);
  }
  double median() {
    std::ranges::nth_element(relative, relative.begin() + std::ssize(relative) / 2);
    return relative[relative.size() / 2];
  }
};

void expect_within(const DenseSpec& spec, std::int64_t samples, std::uint32_t seed, Distance& distance) {
  std::mt19937 random(seed);
  const auto parameters = initial_dense(spec, seed);
  const auto input = random_input(spec, samples, random);
  const auto right = dense_pass(spec, converted<Uncertain>(parameters), converted<Uncertain>(input), samples);
  distance.see(right, dense_pass(spec, parameters, converted<float>(input), samples));
  distance.see(right, dense_pass(spec, converted<AnyOrder>(parameters), converted<AnyOrder>(input), samples));
}

TEST(Uncertain, FloatsInAnyOrderAreWithinTheBounds) {
  for (const auto& [name, spec] : small_models) {
    Distance distance;
    for (std::uint32_t seed = 1; seed <= 20; ++seed) expect_within(spec, 7, seed, distance);
    EXPECT_LT(distance.farthest, Uncertain::confidence) << name << ", seeds 1 to 20";
    EXPECT_EQ(distance.moved_for_nothing, 0) << name << ", seeds 1 to 20";
    EXPECT_LT(distance.median(), 1e-6) << name << ", seeds 1 to 20";
  }
}

/// Returns the weights as products in TF32 read them; biases as they are.
template <class Number, class Read>
DenseParameters<Number> read_by_products(const DenseSpec& spec, const DenseParameters<float>& parameters,
                                         const Read& read) {
  auto all = converted<Number>(parameters);
  const auto blocks = dense_blocks(spec);
  for (std::size_t b = 0; b < all.size(); ++b)
    if (!blocks[b].name.ends_with(".bias"))
      for (Number& weight : all[b].values) weight = read(weight);
  return all;
}

/// All operands are cut to 10 bits, as an H100 does, which is the most that they can lose, and to the same side.
TEST(Uncertain, ProductsInTf32AreWithinTheirBoundsAndOutsideThoseOfFp32) {
  constexpr std::int64_t samples = 64;
  for (const auto& [name, spec] : small_models) {
    Distance distance, of_fp32;
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
      std::mt19937 random(seed);
      const auto parameters = initial_dense(spec, seed);
      const auto input = random_input(spec, samples, random);
      const auto found = dense_pass(spec, read_by_products<float>(spec, parameters, [](float w) { return as_tf32(w); }),
                                    converted<float>(input), samples, DenseMath::tf32);
      const auto shared = [](const Uncertain& w) { return as_shared_operand(w, double{samples}); };
      const auto uncertain = converted<Uncertain>(input);
      distance.see(
          dense_pass(spec, read_by_products<Uncertain>(spec, parameters, shared), uncertain, samples, DenseMath::tf32),
          found);
      of_fp32.see(dense_pass(spec, converted<Uncertain>(parameters), uncertain, samples), found);
    }
    EXPECT_LT(distance.farthest, Uncertain::confidence) << name;
    EXPECT_GT(of_fp32.farthest, 100 * Uncertain::confidence) << name;
    EXPECT_LT(distance.median(), 5e-2) << name;
    RecordProperty(std::string(name), std::to_string(distance.farthest) + " " + std::to_string(distance.median()));
  }
}

TEST(Uncertain, TensOfBitsAreWhatTf32Reads) {
  EXPECT_EQ(as_tf32(1.0F + 0x1p-10F), 1.0F + 0x1p-10F);
  EXPECT_EQ(as_tf32(-1.0F - 0x1.ffcp-10F), -1.0F - 0x1p-10F);
  EXPECT_EQ(as_tf32(0x1.8p-126F), 0x1.8p-126F);
}

/// A row that is off by as much for all samples moves the gradients of weights as no independent errors would.
TEST(Uncertain, SamplesThatShareARowShareItsError) {
  constexpr std::int64_t samples = 512;
  constexpr double error = 1e-3;
  const DenseSpec spec{.kind = DenseKind::mlp, .widths = {8}, .numerical_features = 2, .top_mlp = {16, 1}};
  const auto parameters = initial_dense(spec, 3);
  std::mt19937 random(3);
  auto moved = random_input(spec, samples, random);
  moved.labels.assign(samples, 1.0F);
  auto input = converted<Uncertain>(moved);
  for (std::int64_t s = 0; s < samples; ++s)
    for (std::int64_t c = 0; c < 8; ++c) {
      const double value = input.vectors[0].at(0, c).value;
      input.vectors[0].at(s, c) = {value, error, std::sqrt(double{samples}) * error};
      moved.vectors[0].at(s, c) = value + error;
    }
  const auto right = dense_pass(spec, converted<Uncertain>(parameters), input, samples);
  const auto found = dense_pass(spec, converted<double>(parameters), moved, samples);
  double of_independent = 0.0;
  for (std::size_t b = 0; b < right.parameter_gradients.size(); ++b)
    for (std::size_t i = 0; i < right.parameter_gradients[b].values.size(); ++i) {
      const Uncertain& g = right.parameter_gradients[b].values[i];
      const double off = std::abs(found.parameter_gradients[b].values[i] - g.value);
      EXPECT_LE(off, Uncertain::confidence * g.in_sums) << b << " " << i;
      of_independent = std::max(of_independent, off / g.bound());
    }
  EXPECT_GT(of_independent, 1.0);
}

/// Vectors that a narrow wire rounded move a far logit, and with it all gradients of the sample by one share.
TEST(Uncertain, GradientsShareTheErrorOfTheirLogit) {
  const DenseSpec spec{.kind = DenseKind::dcnv2,
                       .widths = std::vector<std::int64_t>(26, 2),
                       .numerical_features = 13,
                       .top_mlp = {1},
                       .cross_layers = 3,
                       .cross_rank = 3};
  constexpr double of_bf16 = 0x1p-8;
  Distance distance;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const auto parameters = initial_dense(spec, seed);
    auto moved = random_input(spec, 1, random);
    std::uniform_real_distribution<double> logarithm(0.0, 12.0), rounding(-of_bf16, of_bf16);
    for (double& x : moved.numerical.values) x = logarithm(random);
    auto input = converted<Uncertain>(moved);
    for (std::size_t f = 0; f < moved.vectors.size(); ++f)
      for (std::size_t c = 0; c < moved.vectors[f].values.size(); ++c) {
        double& x = moved.vectors[f].values[c];
        input.vectors[f].values[c] = {x, of_bf16 * std::abs(x) / std::sqrt(3.0)};
        x += rounding(random) * x;
      }
    distance.see(dense_pass(spec, converted<Uncertain>(parameters), input, 1),
                 dense_pass(spec, converted<double>(parameters), moved, 1));
  }
  EXPECT_LT(distance.farthest, Uncertain::confidence) << "seeds 1 to 300";
  RecordProperty("farthest", std::to_string(distance.farthest));
}

TEST(Uncertain, BoundsOfWideModelsSaySomething) {
  const std::vector<std::int64_t> widths(5, 16);
  for (const DenseKind kind : {DenseKind::mlp, DenseKind::dlrm, DenseKind::dcnv2}) {
    const DenseSpec spec{.kind = kind,
                         .widths = widths,
                         .numerical_features = 13,
                         .bottom_mlp = {128, 64, 16},
                         .top_mlp = {128, 128, 64, 1},
                         .cross_layers = 3,
                         .cross_rank = 8};
    Distance distance;
    for (std::uint32_t seed = 1; seed <= 2; ++seed) expect_within(spec, 16, seed, distance);
    EXPECT_LT(distance.farthest, Uncertain::confidence) << name_of(kind) << ", seeds 1 and 2";
    EXPECT_EQ(distance.moved_for_nothing, 0) << name_of(kind) << ", seeds 1 and 2";
    EXPECT_LT(distance.median(), 1e-5) << name_of(kind) << ", seeds 1 and 2";
  }
}

}  // namespace
}  // namespace shardmark::reference
