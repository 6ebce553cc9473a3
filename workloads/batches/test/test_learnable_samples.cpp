// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "workloads/batches/batch_source.hpp"
#include "workloads/batches/learnable_samples.hpp"

namespace shardmark::workloads {
namespace {

RunOptions dense_options(DenseKind kind) {
  RunOptions options;
  options.seed = 5;
  options.workload = load_workload("criteo-kaggle", "1/4096");
  options.workload.global_batch = 1000;
  options.dense.kind = kind;
  return options;
}

TEST(LearnableSamples, AreThoseOfTheWholeBatchInAnyPart) {
  const RunOptions options = dense_options(DenseKind::dlrm);
  const auto source = make_batch_source(options, [](const std::string&) {});
  const datasets::Samples whole = source->read(3, 0, 1000), part = source->read(3, 600, 50),
                          other = source->read(4, 600, 50);
  ASSERT_EQ(1000U, whole.labels.size());
  ASSERT_EQ(13U * 1000U, whole.dense.size());
  EXPECT_EQ(part.labels, std::vector<float>(whole.labels.begin() + 600, whole.labels.begin() + 650));
  EXPECT_EQ(part.dense, std::vector<float>(whole.dense.begin() + 600 * 13, whole.dense.begin() + 650 * 13));
  EXPECT_NE(part.dense, other.dense);
  EXPECT_NE(part.labels, other.labels);
  const double positives = std::accumulate(whole.labels.begin(), whole.labels.end(), 0.0) / 1000;
  EXPECT_NEAR(0.5, positives, 0.45);  // popular rows decide together
}

TEST(LearnableSamples, WithoutAModelThereAreNone) {
  const RunOptions options = dense_options(DenseKind::none);
  const datasets::Samples samples = make_batch_source(options, [](const std::string&) {})->read(0, 0, 10);
  EXPECT_TRUE(samples.dense.empty());
  EXPECT_TRUE(samples.labels.empty());
}

TEST(LearnableSamples, IntegersOfCriteoGoThroughTheLogarithm) {
  const RunOptions options = dense_options(DenseKind::dlrm);
  datasets::Samples samples{.batch = {}, .dense = std::vector<float>(13, 0.0F), .labels = {1.0F}};
  samples.batch.samples = 1;
  samples.dense[1] = 1.0F;
  samples.dense[2] = -2.0F;
  samples.dense[3] = 65535.0F;
  transform_numerical(options, samples);
  EXPECT_EQ(0.0F, samples.dense[0]);
  EXPECT_EQ(std::log(2.0F), samples.dense[1]);
  EXPECT_EQ(0.0F, samples.dense[2]);
  EXPECT_EQ(static_cast<float>(16 * std::log(2.0)), samples.dense[3]);
}

TEST(LearnableSamples, DataThatDoNotFitTheModelAreRefused) {
  RunOptions options = dense_options(DenseKind::dlrm);
  options.data.file = "day.h5";
  const auto refusal = [&](std::size_t numerical, std::size_t labels) -> std::string {
    datasets::Samples samples{
        .batch = {}, .dense = std::vector<float>(numerical), .labels = std::vector<float>(labels)};
    samples.batch.samples = 2;
    try {
      transform_numerical(options, samples);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ("accepted", refusal(26, 2));
  EXPECT_EQ("day.h5: its samples have no labels, which --dense dlrm needs", refusal(26, 0));
  EXPECT_EQ("day.h5: its samples have 4 numerical features, the dense model of criteo-kaggle takes 13", refusal(8, 2));
}

}  // namespace
}  // namespace shardmark::workloads
