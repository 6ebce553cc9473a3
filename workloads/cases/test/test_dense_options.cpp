// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "comm/placement/planner.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/test/kaggle_options.hpp"

namespace shardmark::workloads {
namespace {

placement::Plan plan_of_two(const RunOptions& run) {
  return placement::make_plan("row_wise", run.workload.tables, run.workload.features, {.ranks = 2});
}

TEST(DenseOptions, LayersAreToldWhereTheyAreTrained) {
  const RunOptions run = with({"dense=dlrm", "dense_optimizer=adam", "dense_learning_rate=0.01"});
  EXPECT_EQ(run.dense.kind, DenseKind::dlrm);
  EXPECT_EQ(run.dense.optimizer_of_weights().kind, OptimizerKind::adam);
  const auto options = case_options(run, {}, plan_of_two(run));
  EXPECT_EQ(options.at("dense"), "dlrm");
  EXPECT_EQ(options.at("dense_optimizer"), "adam");
  EXPECT_EQ(changed_options(run, {}), (std::vector<std::string>{"dense", "dense_optimizer", "dense_learning_rate"}));
  const RunOptions exact = with({"dense=exact"});
  EXPECT_FALSE(case_options(exact, {}, plan_of_two(exact)).contains("dense_optimizer"));
  const Case tf32{.dense_math = DenseMath::tf32};
  EXPECT_EQ(case_options(run, tf32, plan_of_two(run)).at("dense_math"), "tf32");
  EXPECT_EQ(tf32.name(), "auto mpi_alltoallv, dense_math tf32");
  const auto refusal = [](const std::vector<std::string>& settings) -> std::string {
    try {
      with(settings);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal({"dense_optimizer=adam"}),
            "--set dense_optimizer=adam: no layers are trained; use --dense mlp, dlrm or dcnv2");
  EXPECT_EQ(refusal({"dense_math=fp32"}),
            "--set dense_math=fp32: no layers are trained; use --dense mlp, dlrm or dcnv2");
  EXPECT_EQ(refusal({"dense=mlp", "dense_math=tf32"}),
            "--dense-math tf32: this build computes on processors, which multiply in fp32; use a build for GPUs, such "
            "as that of preset cuda");
  EXPECT_EQ(refusal({"dense=dlrm", "exact=true"}), "exact: dense model dlrm is not exact in fp32; use --dense exact");
  EXPECT_EQ(refusal({"dense=dlrm", "dim=8"}),
            "workload criteo-kaggle: dense model dlrm: dot products need vectors of one width: feature 0 gives 8, "
            "bottom_mlp gives 16");
  EXPECT_EQ(refusal({"dense=exact", "pooling=none", "ids.ragged=true"}),
            "dense model exact: samples have different numbers of vectors of feature C1, which has no pooling; use "
            "ids.ragged=false or pool it");
  EXPECT_EQ(refusal({"dense=mlp", "dense_optimizer=lamb"}),
            "optimizer lamb works on rows of tables; weights of layers take one that works on elements, such as sgd, "
            "adagrad or adam");
  EXPECT_EQ(refusal({"dense=mlp", "dense_optimizer=ftrl", "dense_learning_rate=0"}),
            "dense model mlp: ftrl divides by its learning rate, which is 0; use one above 0, or optimizer none where "
            "nothing is to be learnt");
  EXPECT_EQ(refusal({"optimizer=ftrl", "learning_rate=0"}).find("table C1: ftrl divides by its learning rate"), 0u);
  EXPECT_EQ(refusal({"optimizer=adam", "learning_rate=0"}), "accepted");
  EXPECT_EQ(refusal({"optimizer=adam", "epsilon=0"}),
            "table C1: with epsilon 0, adam divides 0 by 0 where a gradient is 0; use one above 0");
  EXPECT_EQ(refusal({"optimizer=adagrad", "epsilon=0", "initial_accumulator=0.1"}), "accepted");
  EXPECT_EQ(refusal({"optimizer=sgd", "epsilon=0"}), "accepted");
}

}  // namespace
}  // namespace shardmark::workloads
