// SPDX-License-Identifier: Apache-2.0
// That models learn what can be learnt of generated samples, and what is said of it.
#include <gtest/gtest.h>

#include <random>

#include "reference/dense/loss.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/measure/dense/training_window.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"

namespace shardmark::workloads {
namespace {

TEST(DistributedAuc, IsThatOfAllSamplesTogether) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  std::mt19937 random(8);
  for (const std::size_t n : {0, 1, 2, 3, 50, 1000})
    for (const unsigned distinct : {1U, 5U, 1000000U}) {
      std::vector<float> scores, labels, own_scores, own_labels;
      for (std::size_t s = 0; s < n; ++s) {
        labels.push_back(static_cast<float>(random() % 2));
        scores.push_back(static_cast<float>(random() % distinct) -
                         0.25F * static_cast<float>(distinct) * labels.back());
        if (static_cast<int>(random() % static_cast<unsigned>(comm.size())) != comm.rank()) continue;
        own_scores.push_back(scores.back());
        own_labels.push_back(labels.back());
      }
      EXPECT_EQ(reference::area_under_curve(scores, labels), distributed_auc(comm, own_scores, own_labels))
          << n << " " << distinct;
    }
}

TEST(TrainingWindow, HoldsTheLatestSteps) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  TrainingWindow window;
  EXPECT_FALSE(window.quality(comm));
  const std::vector<float> labels{0.0F, 1.0F}, wrong{1.0F, 0.0F}, right{0.0F, 1.0F};
  window.add(5.0, wrong, labels);
  EXPECT_EQ(5.0 * comm.size(), window.quality(comm)->loss);
  EXPECT_EQ(0.0, window.quality(comm)->auc);
  for (std::size_t i = 0; i < TrainingWindow::most_steps; ++i) window.add(1.0, right, labels);
  EXPECT_EQ(1.0 * comm.size(), window.quality(comm)->loss);
  EXPECT_EQ(1.0, window.quality(comm)->auc);
  EXPECT_EQ(static_cast<std::int64_t>(TrainingWindow::most_steps), window.quality(comm)->steps);
}

/// Four tables of 60 rows, read once per sample, and two numerical features.
RunOptions learnable_case(DenseKind kind) {
  RunOptions options;
  options.seed = 3;
  Workload& workload = options.workload;
  workload.name = "learnable";
  workload.global_batch = 512;
  workload.ids.distribution = IdDistribution::uniform;
  for (std::int64_t t = 0; t < 4; ++t) {
    const std::string name = std::to_string(t);
    workload.tables.push_back({.name = "t" + name,
                               .rows = 60,
                               .dim = 8,
                               .optimizer = {.kind = OptimizerKind::adagrad, .learning_rate = 0.1F}});
    workload.features.push_back({.name = "f" + name, .table = t, .pooling = Pooling::sum, .hotness = 1});
  }
  workload.dense = DenseSpec{.kind = kind,
                             .numerical_features = 2,
                             .bottom_mlp = {16, 8},
                             .top_mlp = {32, 16, 1},
                             .cross_layers = 2,
                             .cross_rank = 8};
  options.dense = {.kind = kind, .optimizer = OptimizerKind::adagrad, .learning_rate = 0.05F};
  return options;
}

// New samples all the time. The best AUC is that of the hidden model, 0.94 here; half of it is noise of the labels.
TEST(Learning, LossFallsAndAucRisesAboveEightyFivePercent) {
  constexpr double auc_to_reach = 0.85;
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const DenseKind kind : {DenseKind::mlp, DenseKind::dlrm, DenseKind::dcnv2}) {
    const RunOptions options = learnable_case(kind);
    const placement::Plan plan = plan_of("row_wise", options, comm.size());
    const auto batches = make_batch_source(options, [](const std::string&) {});
    ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
    tables.fill(options.row_values());
    const auto dense = make_dense_model(comm, options);
    std::unique_ptr<ReadyCase> ready;
    TrainingWindow first, last;
    HostElements<float> labels;
    constexpr std::int64_t steps = 200;
    for (std::int64_t step = 0; step < steps; ++step) {
      const StepInput input = read_batch(comm, options, *batches, step);
      if (!ready) ready = ready_case(comm, tables, plan, {}, input);
      training_step(ready->flight, input, *dense);
      (step < 8 ? first : last).add(dense->loss_share(), dense->logits(), labels.read(input.labels));
    }
    const auto before = first.quality(comm), after = last.quality(comm);
    EXPECT_LT(after->loss, 0.75 * before->loss) << name_of(kind);
    EXPECT_GT(after->auc.value(), auc_to_reach) << name_of(kind);
    EXPECT_LT(before->auc.value(), auc_to_reach) << name_of(kind);
  }
}

}  // namespace
}  // namespace shardmark::workloads
