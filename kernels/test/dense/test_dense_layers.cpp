// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernels/dense/dense_layers.hpp"
#include "reference/dense/dense_pass.hpp"
#include "reference/dense/uncertain.hpp"
#include "reference/test/dense/random_model.hpp"

namespace shardmark::kernels::test {
namespace {

using reference::Matrix;
using reference::Uncertain;

/// A batch of the reference as the kernels take one.
struct KernelBatch {
  std::vector<Matrix<float>> vectors, gradients;
  Matrix<float> numerical;
  std::vector<float> labels;
  std::vector<ConstFloats> vector_views;
  std::vector<Floats> gradient_views;
  DenseBatch batch;

  KernelBatch(const reference::DenseInput<double>& input, std::int64_t global_batch)
      : numerical(reference::converted<float>(input.numerical)), labels(input.labels) {
    for (const auto& each : input.vectors) {
      vectors.push_back(reference::converted<float>(each));
      gradients.emplace_back(each.rows, each.columns);
    }
    for (auto& each : vectors) vector_views.emplace_back(each.values.data(), each.rows, each.columns);
    for (auto& each : gradients) gradient_views.emplace_back(each.values.data(), each.rows, each.columns);
    batch = {static_cast<std::int64_t>(labels.size()),
             global_batch,
             vector_views,
             {numerical.values.data(), numerical.rows, numerical.columns},
             labels.data(),
             gradient_views};
  }
};

void expect_within(std::span<const float> actual, const Matrix<Uncertain>& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.values.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_LE(std::abs(actual[i] - expected.values[i].value), expected.values[i].bound()) << what << " " << i;
}

/// Forward and backward against the reference, within the bounds of fp32.
void check_pass(const DenseSpec& spec, DenseLayers& layers, std::int64_t samples, std::int64_t global_batch,
                std::mt19937& random) {
  const auto parameters = reference::initial_dense(spec, random());
  float* to = layers.parameters().data();
  for (const auto& block : parameters) to = std::ranges::copy(block.values, to).out;
  const auto input = reference::random_input(spec, samples, random);
  const auto expected = dense_pass(spec, reference::converted<Uncertain>(parameters),
                                   reference::converted<Uncertain>(input), global_batch);
  KernelBatch mine(input, global_batch);
  const double loss = layers.forward(mine.batch);
  EXPECT_LE(std::abs(loss - expected.loss.value), expected.loss.bound() + 1e-300);
  expect_within(layers.logits(), expected.logits, "logits");
  std::ranges::fill(layers.gradients(), 1e30F);
  std::int64_t next = std::ssize(layers.parameters());  // gradients are complete from the last to the first
  for (std::int64_t stage = 0; stage < layers.stages(); ++stage) {
    const auto [begin, end] = layers.backward(mine.batch, stage);
    if (begin == end) continue;
    EXPECT_EQ(next, end);
    next = begin;
  }
  EXPECT_EQ(0, next);
  for (std::size_t f = 0; f < mine.gradients.size(); ++f)
    expect_within(mine.gradients[f].values, expected.vector_gradients[f], "gradient of feature " + std::to_string(f));
  std::size_t first = 0;
  const auto blocks = reference::dense_blocks(spec);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto& block = expected.parameter_gradients[b];
    expect_within(std::span<const float>(layers.gradients()).subspan(first, block.values.size()), block,
                  "gradient of " + blocks[b].name);
    first += block.values.size();
  }
}

TEST(DenseLayers, AreTheReferenceForBatchesOfAnySize) {
  std::mt19937 random(5);
  for (const auto& [name, spec] : reference::small_models) {
    DenseLayers layers(spec);
    for (const std::int64_t samples : {37, 0, 1, 2, 64, 3}) {
      SCOPED_TRACE(name + ", samples " + std::to_string(samples));
      check_pass(spec, layers, samples, samples + 5, random);
    }
  }
}

TEST(DenseLayers, AreTheReferenceOnWideLayers) {
  std::mt19937 random(6);
  const DenseSpec dlrm{.kind = DenseKind::dlrm,
                       .widths = std::vector<std::int64_t>(26, 16),
                       .numerical_features = 13,
                       .bottom_mlp = {64, 33, 16},
                       .top_mlp = {65, 30, 1}};
  const DenseSpec dcnv2{.kind = DenseKind::dcnv2,
                        .widths = {17, 40},
                        .numerical_features = 13,
                        .bottom_mlp = {50, 21},
                        .top_mlp = {130, 1},
                        .cross_layers = 3,
                        .cross_rank = 35};
  for (const DenseSpec& spec : {dlrm, dcnv2}) {
    DenseLayers layers(spec);
    check_pass(spec, layers, 150, 300, random);
  }
}

TEST(DenseLayers, NumbersPerSampleAreThoseOfTheBuffers) {
  EXPECT_EQ(5 + 3 + 1 + 10 + 2 * 10,
            dense_numbers_per_sample({.widths = {3, 1, 4}, .numerical_features = 2, .top_mlp = {5, 3, 1}}));
}

TEST(DenseLayers, RefuseWhatIsNoModel) { EXPECT_THROW(DenseLayers(DenseSpec{}), InputError); }

}  // namespace
}  // namespace shardmark::kernels::test
