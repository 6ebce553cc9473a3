// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "workloads/cases/spec.hpp"

namespace shardmark {
namespace {

TEST(DenseHalf, ConcatenatedEmbeddingsAreAveragedAndFollowedByNumbers) {
  const DenseHalf dense{.numerical_features = 2, .stride = 3, .top_mlp = {4, 1}};
  // 8 + 5 values become ceil(13 / 3) = 5, with 2 numbers 7: 7 x 4 + 4 and 4 x 1 + 1 parameters.
  const std::vector<std::int64_t> widths{8, 5};
  EXPECT_EQ(dense_work(dense, widths), (DenseWork{37, 13 + 2 * (28 + 4), 2 * (13 + 2 * (28 + 4))}));
}

TEST(DenseHalf, DotTakesEachPairOfVectors) {
  const DenseHalf dense{.numerical_features = 3, .bottom_mlp = {5, 2}, .interaction = Interaction::dot, .top_mlp = {1}};
  // Bottom 3 -> 5 -> 2; 3 vectors of 2 make 3 pairs; top 3 + 2 -> 1. The 2 * 15 flops for numbers' gradients are left
  // out.
  const std::vector<std::int64_t> widths{2, 2};
  const std::int64_t forward = 2 * (15 + 10) + 3 * 4 + 2 * 5;
  EXPECT_EQ(dense_work(dense, widths), (DenseWork{20 + 12 + 6, forward, 2 * forward - 30}));
  EXPECT_THROW(dense_work(dense, std::vector<std::int64_t>{2, 4}), InputError);
}

TEST(DenseHalf, CrossKeepsTheWidth) {
  const DenseHalf dense{.numerical_features = 1,
                        .bottom_mlp = {2},
                        .interaction = Interaction::cross,
                        .cross_layers = 3,
                        .cross_rank = 4,
                        .top_mlp = {1}};
  // x has 2 + 6 values; a layer 2 x 8 x 4 + 8 parameters.
  const std::vector<std::int64_t> widths{6};
  const std::int64_t forward = 2 * 2 + 3 * (4 * 32 + 24) + 2 * 8;
  EXPECT_EQ(dense_work(dense, widths), (DenseWork{4 + 3 * 72 + 9, forward, 2 * forward - 4}));
}

TEST(DenseHalf, OfEveryWorkloadCanBeCounted) {
  const auto parameters = [](const char* name) {
    const Workload workload = load_workload(name);
    return dense_work(workload.dense.value(), output_widths(workload)).parameters;
  };
  // Bottom 13-512-256-128; 27 vectors make 351 pairs, with the bottom output 479.
  constexpr std::int64_t bottom = 13 * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128;
  constexpr std::int64_t top = 1024 * 1024 + 1024 + 1024 * 512 + 512 + 512 * 256 + 256 + 256 + 1;
  for (const char* name : {"hugectr-dlrm", "criteo-terabyte", "criteo-terabyte-40m"})
    EXPECT_EQ(parameters(name), bottom + 479 * 1024 + 1024 + top) << name;
  EXPECT_EQ(parameters("dlrm-dcnv2"), bottom + 3 * (2 * 3456 * 512 + 3456) + 3456 * 1024 + 1024 + top);
  EXPECT_EQ(parameters("synthetic-tiny"), (672 + 10) * 256 + 256 + 256 * 128 + 128 + 128 + 1);
  EXPECT_EQ(parameters("synthetic-medium"),
            (2469 + 25) * 1024 + 1024 + 1024 * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128 + 128 + 1);
  for (const std::string& name : builtin_workloads())
    if (const Workload workload = load_workload(name); workload.dense) {
      EXPECT_GT(dense_work(*workload.dense, output_widths(workload)).backward_flops, 0) << name;
    }
}

TEST(DenseHalf, IsReadAndWritten) {
  auto json = to_json(load_workload("dlrm-dcnv2"));
  EXPECT_EQ(json.at("dense").dump(),
            R"({"numerical_features":13,"bottom_mlp":[512,256,128],"interaction":"cross","cross_layers":3,)"
            R"("cross_rank":512,"top_mlp":[1024,1024,512,256,1]})");
  EXPECT_FALSE(to_json(load_workload("criteo-kaggle")).contains("dense"));
  const auto refusal = [&](const char* key, const nlohmann::ordered_json& value) -> std::string {
    auto broken = json;
    broken["dense"][key] = value;
    try {
      workload_from_json(broken, "x.json");
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("cross_rank", 0), "x.json: dense: \"cross_rank\" must be at least 1, got 0");
  EXPECT_EQ(refusal("top_mlp", {8, 0}), "x.json: dense: \"top_mlp\" must be at least 1, got 0");
  EXPECT_NE(refusal("interaction", "sum").find("unknown interaction 'sum'; "), std::string::npos);
  EXPECT_EQ(refusal("layers", 3), "x.json: dense: unknown key \"layers\"");
}

}  // namespace
}  // namespace shardmark
