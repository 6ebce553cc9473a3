// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reference/dense/dense_spec.hpp"
#include "workloads/cases/dense_spec_of.hpp"

namespace shardmark::workloads {
namespace {

TEST(DenseSpecOf, EveryWorkloadCanBeCounted) {
  const auto parameters = [](const char* name) { return dense_work(published_dense(load_workload(name))).parameters; };
  // Bottom 13-512-256-128; 27 vectors make 351 pairs, with the bottom output 479.
  constexpr std::int64_t bottom = 13 * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128;
  constexpr std::int64_t top = 1024 * 1024 + 1024 + 1024 * 512 + 512 + 512 * 256 + 256 + 256 + 1;
  for (const char* name : {"hugectr-dlrm", "criteo-terabyte", "criteo-terabyte-40m"})
    EXPECT_EQ(parameters(name), bottom + 479 * 1024 + 1024 + top) << name;
  EXPECT_EQ(parameters("dlrm-dcnv2"), bottom + 3 * (2 * 3456 * 512 + 3456) + 3456 * 1024 + 1024 + top);
  EXPECT_EQ(parameters("synthetic-tiny"), (672 + 10) * 256 + 256 + 256 * 128 + 128 + 128 + 1);
  EXPECT_EQ(parameters("synthetic-medium"),
            (2469 + 25) * 1024 + 1024 + 1024 * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128 + 128 + 1);
  // Bottom 13-512-256-64-16; 351 pairs and the bottom output make 367.
  EXPECT_EQ(parameters("criteo-kaggle"), 13 * 512 + 512 + 512 * 256 + 256 + 256 * 64 + 64 + 64 * 16 + 16 + 367 * 512 +
                                             512 + 512 * 256 + 256 + 256 + 1);
  for (const std::string& name : builtin_workloads())
    if (const Workload workload = load_workload(name); workload.dense) {
      EXPECT_GT(dense_work(published_dense(workload)).backward_flops, 0) << name;
    }
}

TEST(DenseSpecOf, AnotherModelTakesTheLayersOfThePublishedOne) {
  const DenseSpec spec = dense_spec_of(load_workload("criteo-kaggle"), DenseKind::mlp);
  EXPECT_EQ(DenseKind::mlp, spec.kind);
  EXPECT_EQ(26 * 16 + 16, spec.top_inputs());
  const auto refusal = [](const char* name, DenseKind kind) -> std::string {
    try {
      dense_spec_of(load_workload(name), kind);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ("workload criteo-kaggle: dense model dcnv2: cross_layers is 0, must be at least 1",
            refusal("criteo-kaggle", DenseKind::dcnv2));
  EXPECT_EQ("workload fbtt describes no layers for dense model dlrm; give a spec with \"dense\"",
            refusal("fbtt", DenseKind::dlrm));
}

TEST(DenseSpecOf, LayersAreReadAndWritten) {
  auto json = to_json(load_workload("dlrm-dcnv2"));
  EXPECT_EQ(json.at("dense").dump(),
            R"({"model":"dcnv2","numerical_features":13,"bottom_mlp":[512,256,128],"cross_layers":3,)"
            R"("cross_rank":512,"top_mlp":[1024,1024,512,256,1]})");
  EXPECT_FALSE(to_json(load_workload("fbtt")).contains("dense"));
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
  EXPECT_NE(refusal("model", "sum").find("unknown dense model 'sum'; "), std::string::npos);
  EXPECT_EQ(refusal("model", "exact"), "x.json: dense: \"model\" must be one of mlp, dlrm, dcnv2, got exact");
  EXPECT_EQ(refusal("layers", 3), "x.json: dense: unknown key \"layers\"; did you mean 'cross_layers'?");
}

}  // namespace
}  // namespace shardmark::workloads
