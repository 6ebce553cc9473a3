// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "reference/dense/dense_parameters.hpp"

namespace shardmark::reference {
namespace {

const DenseSpec published_dlrm{.kind = DenseKind::dlrm,
                               .widths = std::vector<std::int64_t>(26, 128),
                               .numerical_features = 13,
                               .bottom_mlp = {512, 256, 128},
                               .top_mlp = {1024, 1024, 512, 256, 1}};

std::int64_t elements_of(const DenseSpec& spec) {
  std::int64_t sum = 0;
  for (const DenseBlock& block : dense_blocks(spec)) sum += block.rows * block.columns;
  return sum;
}

TEST(DenseSpec, PublishedModelsHaveTheirSizes) {
  EXPECT_EQ(published_dlrm.top_inputs(), 128 + 27 * 26 / 2);
  EXPECT_EQ(elements_of(published_dlrm), 7168 + 131'328 + 32'896 + 491'520 + 1'049'600 + 524'800 + 131'328 + 257);
  DenseSpec dcnv2 = published_dlrm;
  dcnv2.kind = DenseKind::dcnv2;
  dcnv2.cross_layers = 3;
  dcnv2.cross_rank = 512;
  EXPECT_EQ(dcnv2.top_inputs(), 27 * 128);
  EXPECT_EQ(elements_of(dcnv2) - elements_of(published_dlrm), 3 * (2 * 3456 * 512 + 3456) + (3456 - 479) * 1024);
  // Colossal of distributed-embeddings: 336,768 values, averaged over 30, and 500 numerical features.
  const DenseSpec colossal{.widths = {336'768}, .numerical_features = 500, .top_mlp = {4096, 1}, .stride = 30};
  EXPECT_EQ(colossal.top_inputs(), 11'226 + 500);
}

TEST(DenseSpec, BlocksAreInTheOrderOfTheModel) {
  const DenseSpec spec{.kind = DenseKind::dcnv2,
                       .widths = {3},
                       .numerical_features = 5,
                       .bottom_mlp = {4, 2},
                       .top_mlp = {6, 1},
                       .cross_layers = 1,
                       .cross_rank = 7};
  std::string found;
  for (const DenseBlock& block : dense_blocks(spec))
    found += block.name + " " + std::to_string(block.rows) + "x" + std::to_string(block.columns) + ", ";
  EXPECT_EQ(found,
            "bottom.0.weight 4x5, bottom.0.bias 4x1, bottom.1.weight 2x4, bottom.1.bias 2x1, cross.0.v 7x5, "
            "cross.0.w 5x7, cross.0.bias 5x1, top.0.weight 6x5, top.0.bias 6x1, top.1.weight 1x6, top.1.bias 1x1, ");
}

std::string refusal(const DenseSpec& spec) {
  try {
    check_dense(spec);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(DenseSpec, RefusesWhatIsNoModel) {
  const DenseSpec good{.widths = {2, 2}, .numerical_features = 3, .bottom_mlp = {4, 2}, .top_mlp = {5, 1}};
  const auto but = [&](auto&& change) {
    DenseSpec spec = good;
    change(spec);
    return refusal(spec);
  };
  EXPECT_EQ(refusal(good), "none");
  EXPECT_EQ(but([](auto& s) { s.kind = DenseKind::none; }), "dense model none: has no layers");
  EXPECT_EQ(but([](auto& s) { s.kind = DenseKind::exact; }), "dense model exact: has no layers");
  EXPECT_EQ(but([](auto& s) { s.widths.clear(); }), "dense model mlp: there is no feature");
  EXPECT_EQ(but([](auto& s) { s.widths[1] = 0; }), "dense model mlp: feature 1 gives 0 values, must give at least 1");
  EXPECT_EQ(but([](auto& s) { s.numerical_features = -1; }),
            "dense model mlp: numerical_features is -1, must be at least 0");
  EXPECT_EQ(but([](auto& s) { s.numerical_features = 0; }), "dense model mlp: bottom_mlp needs numerical_features");
  EXPECT_EQ(but([](auto& s) { s.bottom_mlp[0] = 0; }),
            "dense model mlp: bottom_mlp: layer 0 has 0 outputs, must have at least 1");
  EXPECT_EQ(but([](auto& s) { s.top_mlp = {}; }), "dense model mlp: top_mlp must end in 1, the logit");
  EXPECT_EQ(but([](auto& s) { s.top_mlp = {5}; }), "dense model mlp: top_mlp must end in 1, the logit");
  EXPECT_EQ(but([](auto& s) { s.stride = 0; }), "dense model mlp: stride is 0, must be at least 1");
  EXPECT_EQ(but([](auto& s) {
              s.kind = DenseKind::dlrm;
              s.widths[1] = 3;
            }),
            "dense model dlrm: dot products need vectors of one width: feature 1 gives 3, bottom_mlp gives 2");
  EXPECT_EQ(but([](auto& s) {
              s.kind = DenseKind::dlrm;
              s.bottom_mlp.clear();
              s.widths = {2, 3};
            }),
            "dense model dlrm: dot products need vectors of one width: feature 1 gives 3, feature 0 gives 2");
  EXPECT_EQ(refusal({.kind = DenseKind::dlrm, .widths = {2}, .top_mlp = {1}}),
            "dense model dlrm: one vector alone has no dot products: add a feature or a bottom_mlp");
  EXPECT_EQ(but([](auto& s) { s.kind = DenseKind::dcnv2; }),
            "dense model dcnv2: cross_layers is 0, must be at least 1");
  EXPECT_EQ(but([](auto& s) {
              s.kind = DenseKind::dcnv2;
              s.cross_layers = 1;
            }),
            "dense model dcnv2: cross_rank is 0, must be at least 1");
}

TEST(DenseSpec, KindsHaveNames) {
  for (const auto& choice : dense_kinds) EXPECT_EQ(named<DenseKind>(choice.name), choice.value);
  EXPECT_THROW(named<DenseKind>("dcn"), InputError);
}

TEST(InitialDense, IsNormalWithThePublishedDeviations) {
  const auto blocks = dense_blocks(published_dlrm);
  const auto parameters = initial_dense(published_dlrm, 11);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (parameters[b].values.size() < 500) continue;
    double sum = 0.0, squares = 0.0, fourth = 0.0;
    const auto n = static_cast<double>(parameters[b].values.size());
    for (const float value : parameters[b].values) {
      const double x = static_cast<double>(value) / blocks[b].deviation;
      sum += x;
      squares += x * x;
      fourth += x * x * x * x;
    }
    EXPECT_NEAR(sum / n, 0.0, 4.0 / std::sqrt(n)) << blocks[b].name << ", seed 11";
    EXPECT_NEAR(squares / n, 1.0, 4.0 * std::sqrt(2.0 / n)) << blocks[b].name << ", seed 11";
    EXPECT_NEAR(fourth / n, 3.0, 4.0 * std::sqrt(96.0 / n)) << blocks[b].name << ", seed 11";
  }
  EXPECT_DOUBLE_EQ(blocks[0].deviation, std::sqrt(2.0 / (13 + 512)));
  EXPECT_DOUBLE_EQ(blocks[1].deviation, std::sqrt(1.0 / 512));
}

TEST(InitialDense, IsAFunctionOfTheSeedAndCrossBiasesAreZero) {
  const DenseSpec spec{.kind = DenseKind::dcnv2, .widths = {3}, .top_mlp = {3, 1}, .cross_layers = 2, .cross_rank = 3};
  const auto parameters = initial_dense(spec, 3);
  EXPECT_EQ(parameters, initial_dense(spec, 3));
  EXPECT_NE(parameters, initial_dense(spec, 4));
  EXPECT_NE(parameters[0], parameters[1]);  // both are 3 by 3
  for (const float x : parameters[2].values) EXPECT_EQ(x, 0.0F);
  for (const float x : parameters[7].values) EXPECT_NE(x, 0.0F);
}

}  // namespace
}  // namespace shardmark::reference
