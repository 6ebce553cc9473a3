// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/dense/dense_spec.hpp"
#include "reference/test/dense/random_model.hpp"

namespace shardmark::reference {
namespace {

TEST(DenseWork, ConcatenatedVectorsAreAveragedAndFollowedByNumbers) {
  const DenseSpec spec{.widths = {8, 5}, .numerical_features = 2, .top_mlp = {4, 1}, .stride = 3};
  // 8 + 5 values become ceil(13 / 3) = 5, with 2 numbers 7: 7 x 4 + 4 and 4 x 1 + 1 parameters.
  EXPECT_EQ(dense_work(spec), (DenseWork{37, 13 + 2 * (28 + 4), 2 * (13 + 2 * (28 + 4))}));
}

TEST(DenseWork, DotTakesEachPairOfVectors) {
  DenseSpec spec{
      .kind = DenseKind::dlrm, .widths = {2, 2}, .numerical_features = 3, .bottom_mlp = {5, 2}, .top_mlp = {1}};
  // Bottom 3 -> 5 -> 2; 3 vectors of 2 make 3 pairs; top 3 + 2 -> 1. The 2 * 15 flops for numbers' gradients are left
  // out.
  const std::int64_t forward = 2 * (15 + 10) + 3 * 4 + 2 * 5;
  EXPECT_EQ(dense_work(spec), (DenseWork{20 + 12 + 6, forward, 2 * forward - 30}));
  spec.widths = {2, 4};
  EXPECT_THROW(dense_work(spec), InputError);
}

TEST(DenseWork, CrossKeepsTheWidth) {
  const DenseSpec spec{.kind = DenseKind::dcnv2,
                       .widths = {6},
                       .numerical_features = 1,
                       .bottom_mlp = {2},
                       .top_mlp = {1},
                       .cross_layers = 3,
                       .cross_rank = 4};
  // x has 2 + 6 values; a layer 2 x 8 x 4 + 8 parameters.
  const std::int64_t forward = 2 * 2 + 3 * (4 * 32 + 24) + 2 * 8;
  EXPECT_EQ(dense_work(spec), (DenseWork{4 + 3 * 72 + 9, forward, 2 * forward - 4}));
}

TEST(DenseWork, ParametersAreThoseOfTheBlocks) {
  for (const auto& [name, spec] : small_models) {
    std::int64_t parameters = 0;
    for (const DenseBlock& block : dense_blocks(spec)) parameters += block.rows * block.columns;
    EXPECT_EQ(dense_work(spec).parameters, parameters) << name;
  }
}

}  // namespace
}  // namespace shardmark::reference
