// SPDX-License-Identifier: Apache-2.0
// Steps over tables of Storage::tt, beside dense ones, against the reference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "workloads/measure/test/small_tts.hpp"
#include "workloads/tables/tensor_train/tt_report.hpp"

namespace shardmark::workloads {
namespace {

class TensorTrains : public testing::Test {
 protected:
  void expect_right(const RunOptions& options, std::string_view planner, const Case& config = {}) {
    EXPECT_EQ(0, wrong_values(comm_, options, plan_of(planner, options, comm_.size()), config))
        << planner << " " << config.name();
  }
  void expect_right(const RunOptions& options) {
    for (const std::string_view planner : tt_planners) expect_right(options, planner);
  }

  const comm::Communicator comm_{MPI_COMM_WORLD};
};

TEST_F(TensorTrains, ExactSgdIsBitEqual) {
  for (const Pooling pooling : {Pooling::sum, Pooling::none})
    expect_right(small_tts(pooling, OptimizerKind::sgd, true));
}

TEST_F(TensorTrains, EveryPoolingAndOptimizerStaysInsideItsBound) {
  std::size_t next = 0;
  for (const auto& pooling : poolings)
    for (const auto& optimizer : optimizers) {
      SCOPED_TRACE(fmt::format("{} {}", pooling.name, optimizer.name));
      expect_right(small_tts(pooling.value, optimizer.value, false), tt_planners[next++ % 2]);
    }
}

TEST_F(TensorTrains, EveryValueTypeThatTrains) {
  std::size_t next = 0;
  for (const ValueType type : {ValueType::fp16, ValueType::bf16})
    for (const OptimizerKind optimizer :
         {OptimizerKind::sgd, OptimizerKind::momentum, OptimizerKind::rowwise_adagrad, OptimizerKind::adam})
      for (const bool stochastic : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(type), name_of(optimizer), stochastic));
        RunOptions options = small_tts(Pooling::mean, optimizer, false, type);
        for (Table& table : options.workload.tables) {
          table.stochastic_rounding = stochastic;
          if (stochastic) table.tensor_train.direction = ContractionDirection::automatic;
        }
        expect_right(options, tt_planners[next++ / 2 % 2]);
      }
}

TEST_F(TensorTrains, StochasticRoundingOfMirroredSlicesIsRefused) {
  RunOptions options = small_tts(Pooling::sum, OptimizerKind::sgd, false, ValueType::bf16);
  options.workload.tables[2].stochastic_rounding = true;
  const auto run = [&] { wrong_values(comm_, options, plan_of("table_wise", options, comm_.size()), {}); };
  EXPECT_THROW(run(), InputError);
}

TEST_F(TensorTrains, UnweightedIdsGroupsAndTransfersChangeNothing) {
  for (const Pooling pooling : {Pooling::sum, Pooling::max, Pooling::none}) {
    RunOptions options = small_tts(pooling, OptimizerKind::adagrad, false);
    options.workload.ids.weighted = pooling == Pooling::max;
    options.workload.features[1].pooling = Pooling::mean;
    Case groups{.exchange = comm::exchange_named("pairwise")};
    groups.groups = {2, placement::GroupBalance::count};
    expect_right(options, "table_wise", groups);
    for (const placement::RowTransfer transfer :
         {placement::RowTransfer::unique_rows, placement::RowTransfer::sparse_partials})
      expect_right(options, "table_wise", {.movement = {.transfer = transfer}});
  }
}

TEST_F(TensorTrains, GradientsOfReplicatedCoresAreReducedWhateverTravelsForRows) {
  for (const auto& config : placement::replicated_gradients)
    expect_right(small_tts(Pooling::sum, OptimizerKind::adam, false), "data_parallel",
                 {.movement = {.replicated_gradients = config.value}});
}

/// Rows that share their last digits are cheaper to contract from there.
TEST_F(TensorTrains, TheFirstBatchDecidesTheDirection) {
  RunOptions options = one_tt(Pooling::sum, OptimizerKind::sgd);
  options.workload.tables.push_back(options.workload.tables.front());
  make_tt(options.workload.tables[0], {20, 23, 2}, {2, 2, 2}, {3, 3}, ContractionDirection::automatic);
  make_tt(options.workload.tables[1], {2, 23, 20}, {2, 2, 2}, {3, 3}, ContractionDirection::automatic);
  options.workload.features[1].table = 1;
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const auto inputs = inputs_of(comm_, options, *batches);
  const auto tables = with_decisions(comm_, options.workload.tables, options.workload.features, inputs.front());
  EXPECT_EQ(tables[0].tensor_train.direction, ContractionDirection::suffix);
  EXPECT_EQ(tables[1].tensor_train.direction, ContractionDirection::prefix);
  expect_right(options);
}

TEST_F(TensorTrains, EveryDirectionOrderOfSumsAndUpdateIsRight) {
  for (const auto& direction : contraction_directions)
    for (const auto& order : slice_sums)
      for (const bool fused : {true, false}) {
        SCOPED_TRACE(fmt::format("{} {} {}", direction.name, order.name, fused));
        RunOptions options = small_tts(Pooling::sum, OptimizerKind::adagrad, false);
        for (Table& table : options.workload.tables) {
          table.tensor_train.direction = direction.value;
          table.tensor_train.slice_sums = order.value;
          table.tensor_train.fused_update = fused;
        }
        expect_right(options);
      }
}

TEST_F(TensorTrains, ManyMoreRowsThanASliceHasElementsAllTrain) {
  RunOptions options = one_tt(Pooling::sum, OptimizerKind::sgd);
  options.workload.tables[0].rows = 3000;
  options.workload.tables[0].dim = 2;
  make_tt(options.workload.tables[0], {600, 5}, {1, 2}, {1}, ContractionDirection::prefix);
  expect_right(options);
}

TEST_F(TensorTrains, MoreRanksThanSamples) {
  RunOptions options = small_tts(Pooling::sum, OptimizerKind::sgd, true);
  options.workload.global_batch = 1;
  expect_right(options);
}

/// Populates happen among the checked steps.
TEST_F(TensorTrains, CachedRowsAreTrainedOrCopied) {
  for (const auto& writes : cache_writes)
    for (const OptimizerKind optimizer :
         {OptimizerKind::sgd, OptimizerKind::rowwise_adagrad, OptimizerKind::adam, OptimizerKind::none})
      for (const Pooling pooling : {Pooling::sum, Pooling::max, Pooling::mean})
        for (const std::int64_t rows : {5, 64, 300}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", writes.name, name_of(optimizer), name_of(pooling), rows));
          RunOptions options = one_tt(pooling, optimizer);
          options.checked_steps = options.batches = 7;
          options.workload.tables[0].tensor_train.cache = {.rows = rows, .writes = writes.value, .populate_every = 2};
          options.workload.tables[0].tensor_train.direction =
              rows == 64 ? ContractionDirection::suffix : ContractionDirection::prefix;
          expect_right(options, "table_wise");
          if (writes.value == CacheWrites::read_only) expect_right(options, "data_parallel");
        }
}

/// Copies of cores that do not change stay valid, others are stale after a step.
TEST_F(TensorTrains, CopiesHoldUntilTheCoresChange) {
  for (const OptimizerKind optimizer : {OptimizerKind::none, OptimizerKind::sgd}) {
    RunOptions options = one_tt(Pooling::sum, optimizer);
    options.workload.tables[0].tensor_train.cache = {
        .rows = 300, .writes = CacheWrites::read_only, .populate_every = 1};
    const auto batches = make_batch_source(options, [](const std::string&) {});
    const auto inputs = inputs_of(comm_, options, *batches);
    const placement::Plan plan = plan_of("data_parallel", options, comm_.size());
    ShardedTables tables(plan, options.workload.tables, options.workload.features, comm_.rank());
    tables.fill(options.row_values());
    const auto ready = ready_case(comm_, tables, plan, {}, inputs.front());
    for (int turn = 0; turn < 3; ++turn) training_step(ready->flight, inputs.front());
    std::array<std::int64_t, tt_numbers.size()> numbers{};
    tables.report(Storage::tt, numbers);
    EXPECT_EQ(numbers[tt_number("cache.hits")] > 0, optimizer == OptimizerKind::none);
    EXPECT_GT(numbers[tt_number("cache.stale")], 0);
    EXPECT_GT(numbers[tt_number("cache.misses")], 0);
  }
}

TEST_F(TensorTrains, TablesWithAndWithoutACacheShareAStep) {
  for (const std::int64_t groups : {1, 2}) {
    RunOptions options = small_tts(Pooling::sum, OptimizerKind::adagrad, false);
    options.checked_steps = options.batches = 6;
    options.workload.tables[2].dim = 16;  // as table 1, so that they are looked up together
    options.workload.tables[2].tensor_train.dim_shape = {4, 2, 2};
    options.workload.tables[2].tensor_train.cache = {.rows = 100, .populate_every = 1};
    options.workload.tables[4].tensor_train.cache = {.rows = 20, .populate_every = 3};
    Case config;
    config.groups = {groups, placement::GroupBalance::count};
    expect_right(options, "table_wise", config);
  }
}

TEST_F(TensorTrains, ValuesOfFaultsAreNoticed) {
  for (const std::string_view planner : tt_planners)
    for (const auto& fault : faults) {
      if (!makes_wrong_values(fault.value)) continue;
      RunOptions options = one_tt(Pooling::sum, OptimizerKind::adagrad);
      options.fault = fault.value;
      const placement::Plan plan = plan_of(planner, options, comm_.size());
      EXPECT_EQ(wrong_values(comm_, options, plan, {}) > 0, finds_prey(fault.value, options, plan))
          << planner << " " << fault.name;
    }
}

}  // namespace
}  // namespace shardmark::workloads
