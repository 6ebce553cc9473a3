// SPDX-License-Identifier: Apache-2.0
// Whole steps with a dense model against the reference: every plan and way of travel, every model and optimizer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "comm/collectives.hpp"
#include "comm/placement/support.hpp"
#include "workloads/measure/test/planners_of_every_kind.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"

namespace shardmark::workloads {
namespace {

bool is_supported(const placement::Plan& plan, const RunOptions& options, const placement::Movement& movement) {
  try {
    placement::require_supported(plan, options.workload.tables, options.workload.features, movement);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// Every plan, and transfers in turn where there are several.
void check_plans(const RunOptions& options, bool all_transfers) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  std::size_t turn = 0;
  for (const std::string_view planner : planners_of_every_kind(comm.size())) {
    const placement::Plan plan = plan_of(planner, options, comm.size());
    for (std::size_t t = 0; t < (all_transfers ? placement::transfers.size() : 1); ++t) {
      const Case config{
          .movement = {.transfer =
                           placement::transfers[all_transfers ? t : turn++ % placement::transfers.size()].value}};
      if (!is_supported(plan, options, config.movement)) continue;
      EXPECT_EQ(0, wrong_values(comm, options, plan, config))
          << planner << " " << config.name() << " " << name_of(options.dense.kind);
    }
  }
}

TEST(DenseStep, ExactHeadIsBitEqualForEveryPlanAndTransfer) {
  check_plans(dense_case(DenseKind::exact, Pooling::sum), true);
  check_plans(dense_case(DenseKind::exact, Pooling::none), true);
}

TEST(DenseStep, LayersAreWithinTheirBoundsForEveryPlanAndOptimizer) {
  for (const DenseKind kind : {DenseKind::mlp, DenseKind::dlrm, DenseKind::dcnv2})
    for (const OptimizerKind weights : {OptimizerKind::sgd, OptimizerKind::adagrad, OptimizerKind::adam}) {
      RunOptions options =
          dense_case(kind, weights == OptimizerKind::adam ? Pooling::mean : Pooling::sum,
                     weights == OptimizerKind::sgd ? OptimizerKind::sgd : OptimizerKind::rowwise_adagrad);
      options.dense.optimizer = weights;
      SCOPED_TRACE(fmt::format("{} {}", name_of(kind), name_of(weights)));
      check_plans(options, false);
    }
}

TEST(DenseStep, PoolingsWiresAndGroupsMakeNoDifference) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const Pooling pooling : {Pooling::none, Pooling::max, Pooling::sqrtn}) {
    const RunOptions options = dense_case(DenseKind::dcnv2, pooling);
    Case config{
        .movement = {.transfer = placement::RowTransfer::unique_rows, .wire = {ValueType::bf16, ValueType::fp16}}};
    config.groups.groups = 2;
    const placement::Plan plan = plan_of("row_wise", options, comm.size());
    EXPECT_EQ(0, wrong_values(comm, options, plan, config)) << name_of(pooling);
  }
}

TEST(DenseStep, SegmentsOfASampleStandOneAfterTheOther) {
  for (const DenseKind kind : {DenseKind::exact, DenseKind::mlp, DenseKind::dcnv2}) {
    RunOptions options = nested(dense_case(kind, Pooling::sum), 1);
    options.workload.ids.ragged = false;
    check_plans(options, false);
  }
}

TEST(DenseStep, SamplesMayBeFewerThanRanks) {
  for (const DenseKind kind : {DenseKind::exact, DenseKind::dlrm}) {
    RunOptions options = dense_case(kind, Pooling::sum);
    options.workload.global_batch = 2;
    check_plans(options, false);
  }
}

TEST(DenseStep, BucketsOfLargeModelsAreSummedWhileOthersAreComputed) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  RunOptions options = dense_case(DenseKind::dlrm, Pooling::sum);
  options.workload.dense->top_mlp = {600, 500, 400, 1};
  options.dense.optimizer = OptimizerKind::adagrad;
  const placement::Plan plan = plan_of("table_wise", options, comm.size());
  EXPECT_EQ(0, wrong_values(comm, options, plan, {}));
}

/// The BLAS of the emulated device cuts all operands to TF32, which bounds of fp32 find; cuBLAS does where it is
/// faster.
TEST(DenseStep, ProductsInTf32AreWithinTheirBounds) {
  if (host_reaches_arrays) GTEST_SKIP() << "processors multiply in fp32";
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const DenseKind kind : {DenseKind::mlp, DenseKind::dlrm, DenseKind::dcnv2})
    for (const OptimizerKind weights : {OptimizerKind::sgd, OptimizerKind::adagrad, OptimizerKind::adam}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(kind), name_of(weights)));
      RunOptions options = dense_case(kind, Pooling::mean, OptimizerKind::adagrad);
      if (weights == OptimizerKind::adagrad) options.workload.dense->top_mlp = {512, 256, 1};
      options.dense.optimizer = weights;
      const placement::Plan plan = plan_of("row_wise", options, comm.size());
      const Case tf32{.dense_math = DenseMath::tf32};
      EXPECT_EQ(0, wrong_values(comm, options, plan, tf32));
#ifdef SHARDMARK_EMULATED_DEVICE
      EXPECT_GT(wrong_values(comm, options, plan, tf32, DenseMath::fp32), 0);
#endif
    }
}

/// A model that does something wrong with what another one does.
class SpoiledModel : public DenseModel {
 public:
  enum Defect { none, gradient, logit, loss, weights };
  SpoiledModel(std::unique_ptr<DenseModel> model, Defect defect, bool here)
      : model_(std::move(model)), defect_(here ? defect : none) {}

  ConstDeviceArray<float> run(const StepInput& input, const Flight& outputs, PhaseCosts& costs) override {
    const auto right = model_->run(input, outputs, costs);
    logits_.assign(model_->logits().begin(), model_->logits().end());
    parameters_.assign(model_->parameters().begin(), model_->parameters().end());
    if (defect_ == logit && !logits_.empty()) logits_.back() += 0.01F;
    if (defect_ == weights) parameters_.front() += 0.01F;
    if (defect_ != gradient || right.extent(0) == 0) return right;
    const DeviceArray<float> spoiled("spoiled", right.extent(0));
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), right);
    std::vector<float> values(host.data(), host.data() + host.extent(0));
    for (float& value : values) value *= 1.05F;
    Kokkos::deep_copy(spoiled, kernels::host_array(values));
    return spoiled;
  }
  void reset() override { model_->reset(); }
  double loss_share() const override { return model_->loss_share() * (defect_ == loss ? 1.01 : 1.0); }
  std::span<const float> logits() const override { return logits_; }
  std::span<const float> parameters() const override { return parameters_; }
  std::span<const float> state(int vector) const override { return model_->state(vector); }

 private:
  std::unique_ptr<DenseModel> model_;
  Defect defect_;
  std::vector<float> logits_, parameters_;
};

std::int64_t wrong_with(const comm::Communicator& comm, const RunOptions& options, SpoiledModel::Defect defect) {
  const placement::Plan plan = plan_of("row_wise", options, comm.size());
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const Expectation expectation(comm, options, *batches);
  const auto inputs = inputs_of(comm, options, *batches);
  ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
  const auto ready = ready_case(comm, tables, plan, {}, inputs.front());
  SpoiledModel dense(make_dense_model(comm, options), defect, comm.rank() == comm.size() - 1);
  return find_wrong(comm, expectation, options.row_values(), ready->flight, dense, inputs).count;
}

TEST(DenseStep, DefectsOfOneRankAreSeen) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const DenseKind kind : {DenseKind::exact, DenseKind::dlrm})
    for (const auto defect :
         {SpoiledModel::none, SpoiledModel::gradient, SpoiledModel::logit, SpoiledModel::loss, SpoiledModel::weights}) {
      if (kind == DenseKind::exact && defect == SpoiledModel::weights) continue;
      const std::int64_t wrong = wrong_with(comm, dense_case(kind, Pooling::sum), defect);
      EXPECT_EQ(defect == SpoiledModel::none, wrong == 0) << name_of(kind) << " " << defect << " " << wrong;
    }
}

/// Adam turns the sign of a gradient of nearly 0, which the wire may turn, into a step of the learning rate.
TEST(DenseStep, ValuesThatNoBoundTellsAreNamed) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  RunOptions options = dense_case(DenseKind::dlrm, Pooling::sum);
  const auto unjudged = [&](WireTypes wire) {
    const auto batches = make_batch_source(options, [](const std::string&) {});
    return Expectation(comm, options, *batches, wire).unjudged();
  };
  EXPECT_TRUE(unjudged({}).empty());
  options.dense.optimizer = OptimizerKind::adam;
  EXPECT_TRUE(unjudged({ValueType::bf16, ValueType::bf16}).contains("top.0.weight"));
}

TEST(DenseStep, GradientsOfWeightsAreCountedInThePhase) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = dense_case(DenseKind::mlp, Pooling::sum);
  const placement::Plan plan = plan_of("table_wise", options, comm.size());
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const auto inputs = inputs_of(comm, options, *batches);
  ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
  tables.fill(options.row_values());
  const auto ready = ready_case(comm, tables, plan, {}, inputs.front());
  const auto dense = make_dense_model(comm, options);
  const PhaseCosts costs = training_step(ready->flight, inputs.front(), *dense);
  const auto values = std::ssize(dense->parameters());
  const auto sent = comm::all_reduce(comm, costs.bytes[index_of(Phase::dense)], comm::Reduce::sum);
  EXPECT_EQ(2 * (comm.size() - 1) * values * std::int64_t{sizeof(float)}, sent);  // each rank's share, there and back
}

}  // namespace
}  // namespace shardmark::workloads
