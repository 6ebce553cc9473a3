// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernels/dense/dense_layers.hpp"
#include "kernels/test/dense/copies.hpp"
#include "reference/dense/dense_pass.hpp"
#include "reference/dense/uncertain.hpp"
#include "reference/test/dense/random_model.hpp"

namespace shardmark::kernels::test {
namespace {

using reference::Matrix;
using reference::Uncertain;

/// A batch of the reference as the kernels take one.
struct KernelBatch {
  std::vector<Array<DenseExecution, float>> vectors, gradients;
  Array<DenseExecution, float> numerical, labels;
  std::vector<ConstFloats> vector_views;
  std::vector<Floats> gradient_views;
  DenseBatch batch;

  KernelBatch(const reference::DenseInput<double>& input, std::int64_t global_batch)
      : numerical(computed_with(reference::converted<float>(input.numerical).values)),
        labels(computed_with(input.labels)) {
    for (const auto& each : input.vectors) {
      const auto& values = reference::converted<float>(each).values;
      vectors.push_back(computed_with(values));
      gradients.push_back(computed_with(std::vector<float>(values.size())));
      vector_views.emplace_back(vectors.back().data(), each.rows, each.columns);
      gradient_views.emplace_back(gradients.back().data(), each.rows, each.columns);
    }
    batch = {std::ssize(input.labels),
             global_batch,
             vector_views,
             {numerical.data(), input.numerical.rows, input.numerical.columns},
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
  std::vector<float> values;
  for (const auto& block : parameters) values.insert(values.end(), block.values.begin(), block.values.end());
  replace(layers.parameters(), values);
  const auto input = reference::random_input(spec, samples, random);
  const auto expected = dense_pass(spec, reference::converted<Uncertain>(parameters),
                                   reference::converted<Uncertain>(input), global_batch);
  KernelBatch mine(input, global_batch);
  layers.forward(mine.batch);
  EXPECT_LE(std::abs(layers.loss() - expected.loss.value), expected.loss.bound() + 1e-300);
  expect_within(computed(layers.logits()), expected.logits, "logits");
  Kokkos::deep_copy(DenseExecution(), layers.gradients(), 1e30F);
  auto next =
      static_cast<std::int64_t>(layers.parameters().extent(0));  // gradients are complete from the last to the first
  for (std::int64_t stage = 0; stage < layers.stages(); ++stage) {
    layers.backward(mine.batch, stage, stage + 1);
    const auto [begin, end] = layers.completed_by(stage);
    if (begin == end) continue;
    EXPECT_EQ(next, end);
    next = begin;
  }
  EXPECT_EQ(0, next);
  for (std::size_t f = 0; f < mine.gradients.size(); ++f)
    expect_within(computed(mine.gradients[f]), expected.vector_gradients[f],
                  "gradient of feature " + std::to_string(f));
  std::size_t first = 0;
  const auto blocks = reference::dense_blocks(spec);
  const std::vector<float> gradients = computed(layers.gradients());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto& block = expected.parameter_gradients[b];
    expect_within(std::span<const float>(gradients).subspan(first, block.values.size()), block,
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

/// On a device what comes the third time is a recording, which reads the parameters of its time; two batches take
/// turns.
TEST(DenseLayers, OfBatchesThatComeAgainAreLaunchedTogether) {
  std::mt19937 random(7);
  for (const auto& [name, spec] : reference::small_models) {
    SCOPED_TRACE(name);
    constexpr std::int64_t samples = 37;
    KernelBatch batches[] = {{reference::random_input(spec, samples, random), samples},
                             {reference::random_input(spec, samples, random), samples}};
    DenseLayers layers(spec);
    std::vector<float> parameters(layers.parameters().extent(0));
    for (int step = 0; step < 8; ++step) {
      for (float& each : parameters) each = 0.25F * static_cast<float>(static_cast<int>(random() % 9) - 4);
      const auto pass = [&](DenseLayers& of) {
        replace(of.parameters(), parameters);
        const KernelBatch& mine = batches[step % 2];
        of.forward(mine.batch);
        of.backward(mine.batch, 0, of.stages());
        return std::pair(computed(of.gradients()), of.loss());
      };
      DenseLayers once(spec);
      const auto expected = pass(once);
#ifdef SHARDMARK_EMULATED_DEVICE
      const std::int64_t before = emulated::Device::get().counts().launches;
      const bool sums_in_drawn_order = emulated::Device::get().draws_orders();
      const auto found = pass(layers);
      const std::int64_t launches = emulated::Device::get().counts().launches - before;
      if (step < 2) EXPECT_GT(launches, 2);
      if (step >= 4) EXPECT_LE(launches, 2);
#else
      const bool sums_in_drawn_order = false;
      const auto found = pass(layers);
#endif
      EXPECT_EQ(found.first, expected.first) << "step " << step;
      if (sums_in_drawn_order)
        EXPECT_DOUBLE_EQ(found.second, expected.second) << "step " << step;
      else
        EXPECT_EQ(found.second, expected.second) << "step " << step;
    }
  }
}

/// A larger batch, which fits where activations are but not where columns are summed, takes nothing from a recording.
TEST(DenseLayers, RecordingsOutliveALargerBatch) {
  std::mt19937 random(8);
  for (const auto& [name, spec] : reference::small_models) {
    SCOPED_TRACE(name);
    const KernelBatch small(reference::random_input(spec, 128, random), 128),
        large(reference::random_input(spec, 130, random), 130);
    DenseLayers layers(spec);
    const auto pass = [&](const KernelBatch& mine) {
      layers.forward(mine.batch);
      layers.backward(mine.batch, 0, layers.stages());
      return computed(layers.gradients());
    };
    replace(layers.parameters(), std::vector<float>(layers.parameters().extent(0), 0.25F));
    const auto expected = pass(small);
    for (int again = 0; again < 3; ++again) EXPECT_EQ(pass(small), expected);
    pass(large);
    std::vector<Array<DenseExecution, float>> others;  // where the sums of columns were
    for (int array = 0; array < 16; ++array) others.push_back(computed_with(std::vector<float>(500, 7.0F)));
    EXPECT_EQ(pass(small), expected);
    for (const auto& each : others) EXPECT_EQ(computed(each), std::vector<float>(500, 7.0F));
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

/// 23 vectors of 501 columns are more than a team of a device keeps at once.
TEST(DenseLayers, AreTheReferenceOnWideVectors) {
  std::mt19937 random(7);
  DenseLayers layers({.kind = DenseKind::dlrm,
                      .widths = std::vector<std::int64_t>(22, 501),
                      .numerical_features = 2,
                      .bottom_mlp = {501},
                      .top_mlp = {1}});
  check_pass(layers.spec(), layers, 3, 3, random);
}

TEST(DenseLayers, NumbersPerSampleAreThoseOfTheBuffers) {
  EXPECT_EQ(5 + 3 + 1 + 10 + 2 * 10,
            dense_numbers_per_sample({.widths = {3, 1, 4}, .numerical_features = 2, .top_mlp = {5, 3, 1}}));
}

TEST(DenseLayers, RefuseWhatIsNoModel) { EXPECT_THROW(DenseLayers(DenseSpec{}), InputError); }

}  // namespace
}  // namespace shardmark::kernels::test
