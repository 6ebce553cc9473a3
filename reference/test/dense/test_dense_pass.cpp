// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/test/dense/finite_differences.hpp"
#include "reference/test/dense/random_model.hpp"

namespace shardmark::reference {
namespace {

template <class Visit>
void for_each_model(Visit&& visit) {
  for (const auto& [name, spec] : small_models)
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(name + ", seed " + std::to_string(seed));
      std::mt19937 random(seed);
      visit(spec, converted<double>(initial_dense(spec, seed)), random);
    }
}

TEST(DensePass, GradientsAreFiniteDifferences) {
  for_each_model([](const DenseSpec& spec, DenseParameters<double> parameters, std::mt19937& random) {
    for (const std::int64_t samples : {1, 3}) {
      DenseInput<double> input = random_input(spec, samples, random);
      const auto result = dense_pass(spec, parameters, input, 4);
      const auto loss = [&] { return dense_pass(spec, parameters, input, 4).loss; };
      for (std::size_t f = 0; f < input.vectors.size(); ++f) {
        SCOPED_TRACE("feature " + std::to_string(f));
        expect_gradient(input.vectors[f], result.vector_gradients[f], loss);
      }
      for (std::size_t b = 0; b < parameters.size(); ++b) {
        SCOPED_TRACE(dense_blocks(spec)[b].name);
        expect_gradient(parameters[b], result.parameter_gradients[b], loss);
      }
    }
  });
}

TEST(DensePass, PartsOfABatchAddUpToTheWhole) {
  for_each_model([](const DenseSpec& spec, const DenseParameters<double>& parameters, std::mt19937& random) {
    const DenseInput<double> whole = random_input(spec, 5, random);
    const auto result = dense_pass(spec, parameters, whole, 5);
    const auto part = [&](std::int64_t first, std::int64_t count) {
      const auto rows = [&](const DoubleMatrix& x) {
        return DoubleMatrix(count, x.columns,
                            {x.values.begin() + first * x.columns, x.values.begin() + (first + count) * x.columns});
      };
      DenseInput<double> input{{}, rows(whole.numerical), {}};
      for (const auto& vectors : whole.vectors) input.vectors.push_back(rows(vectors));
      input.labels.assign(whole.labels.begin() + first, whole.labels.begin() + first + count);
      return dense_pass(spec, parameters, input, 5);
    };
    const auto a = part(0, 2), none = part(2, 0), b = part(2, 3);
    EXPECT_NEAR(a.loss + none.loss + b.loss, result.loss, 1e-14);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      for (std::size_t e = 0; e < parameters[i].values.size(); ++e)
        EXPECT_NEAR(a.parameter_gradients[i].values[e] + none.parameter_gradients[i].values[e] +
                        b.parameter_gradients[i].values[e],
                    result.parameter_gradients[i].values[e], 1e-13);
    for (std::size_t f = 0; f < whole.vectors.size(); ++f)
      EXPECT_EQ(b.vector_gradients[f].at(2, 0), result.vector_gradients[f].at(4, 0));
  });
}

// lead = relu(2 * 1 - 1, -2 + 1) = (1, 0); e_0 = (2, 3), e_1 = (-1, 1). Products: lead e_0 = 2, lead e_1 = -1,
// e_0 e_1 = 1. x = (1, 0, 2, -1, 1), logit = 1 + 0 + 4 + 3 + 5 - 13 = 0. With label 1 and 2 samples in the global batch
// dz = (1/2 - 1) / 2 = -1/4, dx = -1/4 (1, 7, 2, -3, 5).
TEST(DensePass, DlrmByHand) {
  const DenseSpec spec{
      .kind = DenseKind::dlrm, .widths = {2, 2}, .numerical_features = 1, .bottom_mlp = {2}, .top_mlp = {1}};
  const DenseParameters<double> parameters{DoubleMatrix(2, 1, {2, -2}), DoubleMatrix(2, 1, {-1, 1}),
                                           DoubleMatrix(1, 5, {1, 7, 2, -3, 5}), DoubleMatrix(1, 1, {-13})};
  const DenseInput<double> input{
      {DoubleMatrix(1, 2, {2, 3}), DoubleMatrix(1, 2, {-1, 1})}, DoubleMatrix(1, 1, {1}), {1}};
  const auto result = dense_pass(spec, parameters, input, 2);
  EXPECT_EQ(result.logits, DoubleMatrix(1, 1, {0}));
  EXPECT_DOUBLE_EQ(result.loss, std::log(2.0) / 2);
  EXPECT_EQ(result.parameter_gradients[2], DoubleMatrix(1, 5, {-0.25, 0, -0.5, 0.25, -0.25}));
  EXPECT_EQ(result.parameter_gradients[3], DoubleMatrix(1, 1, {-0.25}));
  // de_0 = -1/4 (2 lead + 5 e_1), de_1 = -1/4 (-3 lead + 5 e_0), dlead = -1/4 ((1, 7) + 2 e_0 - 3 e_1)
  EXPECT_EQ(result.vector_gradients[0], DoubleMatrix(1, 2, {0.75, -1.25}));
  EXPECT_EQ(result.vector_gradients[1], DoubleMatrix(1, 2, {-1.75, -3.75}));
  EXPECT_EQ(result.parameter_gradients[0], DoubleMatrix(2, 1, {-2, 0}));
  EXPECT_EQ(result.parameter_gradients[1], DoubleMatrix(2, 1, {-2, 0}));
}

// The vectors come before the numerical features: (4, 2) of e and 3, as distributed-embeddings has it.
TEST(DensePass, MlpByHand) {
  const DenseSpec spec{.widths = {2}, .numerical_features = 1, .top_mlp = {1}};
  const DenseParameters<double> parameters{DoubleMatrix(1, 3, {1, 10, 100}), DoubleMatrix(1, 1, {1000})};
  const DenseInput<double> input{{DoubleMatrix(1, 2, {4, 2})}, DoubleMatrix(1, 1, {3}), {0}};
  EXPECT_EQ(dense_pass(spec, parameters, input, 1).logits, DoubleMatrix(1, 1, {1324}));
}

// x_0 = (lead, e) = (1, 2): v = 3, t = (3, 6) + (0, 1), x_1 = (3, 14) + (1, 2).
TEST(DensePass, Dcnv2ByHand) {
  const DenseSpec spec{.kind = DenseKind::dcnv2,
                       .widths = {1},
                       .numerical_features = 1,
                       .top_mlp = {1},
                       .cross_layers = 1,
                       .cross_rank = 1};
  const DenseParameters<double> parameters{DoubleMatrix(1, 2, {1, 1}), DoubleMatrix(2, 1, {1, 2}),
                                           DoubleMatrix(2, 1, {0, 1}), DoubleMatrix(1, 2, {100, 1}),
                                           DoubleMatrix(1, 1)};
  const DenseInput<double> input{{DoubleMatrix(1, 1, {2})}, DoubleMatrix(1, 1, {1}), {0}};
  EXPECT_EQ(dense_pass(spec, parameters, input, 1).logits, DoubleMatrix(1, 1, {416}));
}

TEST(DensePass, RefusesOtherShapes) {
  const DenseSpec spec{.widths = {2}, .numerical_features = 1, .top_mlp = {1}};
  const auto parameters = converted<double>(initial_dense(spec, 1));
  const auto what = [&](const DenseParameters<double>& given, const DenseInput<double>& input) -> std::string {
    try {
      dense_pass(spec, given, input, 1);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const DoubleMatrix e(1, 2), n(1, 1);
  EXPECT_EQ(what(parameters, {{e}, n, {0}}), "");
  EXPECT_EQ(what(parameters, {{e, e}, n, {0}}), "dense model: vectors of 2 features, must be 1");
  EXPECT_EQ(what(parameters, {{DoubleMatrix(1, 3)}, n, {0}}), "dense model: feature 0 is [1, 3], must be [1, 2]");
  EXPECT_EQ(what(parameters, {{e}, DoubleMatrix(1, 0), {0}}), "dense model: numerical is [1, 0], must be [1, 1]");
  EXPECT_EQ(what(parameters, {{e}, n, {0, 1}}), "dense model: feature 0 is [1, 2], must be [2, 2]");
  EXPECT_EQ(what({parameters[0]}, {{e}, n, {0}}), "dense model: 1 blocks of parameters, must be 2");
  EXPECT_EQ(what({DoubleMatrix(1, 2), parameters[1]}, {{e}, n, {0}}),
            "dense model: top.0.weight is [1, 2], must be [1, 3]");
}

}  // namespace
}  // namespace shardmark::reference
