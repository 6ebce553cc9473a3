// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "comm/collectives.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/placement/plan_check.hpp"
#include "comm/placement/support.hpp"
#include "workloads/measure/test/planners_of_every_kind.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"
#include "workloads/step/training_step.hpp"

namespace shardmark::workloads {
namespace {

/// Every transfer with every exchange that can be used, and every way of replicated gradients.
std::vector<Case> all_movements(const comm::Communicator& comm) {
  std::vector<Case> movements;
  for (const auto& transfer : placement::transfers)
    for (const auto& exchange : comm::all_exchanges())
      if (exchange.unusable(comm).empty())
        movements.push_back({.movement = {.transfer = transfer.value}, .exchange = exchange});
  for (const auto& config : placement::replicated_gradients)
    movements.push_back({.movement = {.replicated_gradients = config.value}});
  return movements;
}

/// Checks every plan with every transfer against the reference, for one pooling and optimizer, over exchanges in turn;
/// those by loads, which change where vectors lie, with every plan. On hosts the net draws all of these.
void check_all_movements(const RunOptions& options, const std::vector<int>& leaders = {}) {
  if (host_reaches_arrays) GTEST_SKIP() << "the net draws plans, transfers and exchanges";
  const comm::Communicator comm(MPI_COMM_WORLD, std::numeric_limits<int>::max(), leaders);
  const std::vector<Case> movements = all_movements(comm);
  const std::size_t exchanges = movements.size() / placement::transfers.size();
  std::size_t turn = 0;
  for (const std::string_view planner : planners_of_every_kind(comm.size()))
    for (std::size_t m = 0; m < movements.size(); ++m) {
      if (m % exchanges == 0) ++turn;
      const comm::ExchangeChoice* exchange = movements[m].exchange.choice;
      const bool with_every_plan = exchange != nullptr && exchange->by_loads;
      if (!with_every_plan && m % exchanges != turn % exchanges) continue;
      EXPECT_EQ(0, wrong_values(comm, options, plan_of(planner, options, comm.size()), movements[m]))
          << planner << " " << movements[m].name();
    }
}

TEST(TrainingStep, ExactSgdIsBitEqualForEveryPlanTransferAndExchange) {
  check_all_movements(small_case(Pooling::sum, OptimizerKind::sgd, true));
}

TEST(TrainingStep, ExactSgdOfRowsIsBitEqualForEveryPlanTransferAndExchange) {
  check_all_movements(small_case(Pooling::none, OptimizerKind::sgd, true));
}

TEST(TrainingStep, SegmentsAreBitEqualForEveryPlanTransferAndExchange) {
  check_all_movements(nested(small_case(Pooling::sum, OptimizerKind::sgd, true), 1));
}

/// The ranks pretend to be on several nodes, in pairs.
TEST(TrainingStep, SeveralNodesGiveTheSameValues) {
  std::vector<int> leaders;
  for (int rank = 0; rank < comm::Communicator(MPI_COMM_WORLD).size(); ++rank) leaders.push_back(rank / 2 * 2);
  check_all_movements(small_case(Pooling::sum, OptimizerKind::sgd, true), leaders);
}

/// Plans, transfers and exchanges take turns, so that the combinations below meet all of them.
class Movements {
 public:
  Movements(const comm::Communicator& comm, const RunOptions& options) : comm_(comm) {
    for (const std::string_view planner : planners_of_every_kind(comm.size()))
      for (const Case& movement : all_movements(comm))
        all_.push_back({plan_of(planner, options, comm.size()), movement});
  }

  /// Checks the options with the next movement that can carry them.
  void check_next(const RunOptions& options) {
    for (std::size_t tries = 0; tries < all_.size(); ++tries) {
      const auto& [plan, movement] = all_[next_++ % all_.size()];
      try {
        placement::require_supported(plan, options.workload.tables, options.workload.features, movement.movement);
      } catch (const InputError&) {
        continue;
      }
      EXPECT_EQ(0, wrong_values(comm_, options, plan, movement)) << plan.name << " " << movement.name();
      return;
    }
    ADD_FAILURE() << "no movement carries this";
  }

 private:
  const comm::Communicator& comm_;
  std::vector<std::pair<placement::Plan, Case>> all_;
  std::size_t next_ = 0;
};

TEST(TrainingStep, EveryPoolingOptimizerAndValueTypeStaysInsideItsBound) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  Movements movements(comm, small_case(Pooling::sum, OptimizerKind::sgd, false));
  for (std::size_t p = 0; p < poolings.size(); ++p)
    for (std::size_t o = 0; o < optimizers.size(); ++o)
      for (std::size_t t = 0; t < value_types.size(); ++t) {
        const ValueType type = value_types[t].value;
        const OptimizerKind optimizer = optimizers[o].value;
        if (type == ValueType::int8 && optimizer != OptimizerKind::none) continue;
        SCOPED_TRACE(fmt::format("{} {} {}", poolings[p].name, optimizers[o].name, value_types[t].name));
        const bool weighted = (p + o + t) % 2 == 0;  // each two of pooling, optimizer and type meet both
        movements.check_next(small_case(poolings[p].value, optimizer, weighted, type));
      }
}

TEST(TrainingStep, EveryPoolingOfSamplesAndSegmentsStaysInsideItsBound) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  Movements movements(comm, small_case(Pooling::sum, OptimizerKind::sgd, false));
  for (const auto& pooling : poolings)
    for (const std::int64_t rank : {0, 1})
      for (const bool ragged : {false, true})
        for (const OptimizerKind optimizer : {OptimizerKind::sgd, OptimizerKind::adagrad}) {
          if (pooling.value == Pooling::none && rank == 1) continue;
          SCOPED_TRACE(fmt::format("{} {} {} {}", pooling.name, rank, ragged, name_of(optimizer)));
          RunOptions options = nested(small_case(pooling.value, optimizer, false), rank);
          options.workload.ids.ragged = ragged;
          movements.check_next(options);
        }
}

/// Whose gradients are sorted by shard, and in shards of few rows added without.
RunOptions unweighted(OptimizerKind optimizer) {
  RunOptions options = small_case(Pooling::sum, optimizer, true);
  options.workload.ids.weighted = false;
  return options;
}

TEST(TrainingStep, UnweightedIdsGiveTheSameValues) { check_all_movements(unweighted(OptimizerKind::sgd)); }

TEST(TrainingStep, UnweightedIdsStayInsideTheBoundOfEveryOptimizer) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  Movements movements(comm, unweighted(OptimizerKind::sgd));
  for (const auto& optimizer : optimizers)
    for (int times = 0; times < 4; ++times) movements.check_next(unweighted(optimizer.value));
}

/// Every movement elsewhere sends int32. Exchanges take turns.
TEST(TrainingStep, WideIdsGiveTheSameValues) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const std::array exchanges{"mpi_alltoallv", "persistent", "node_shared"};
  std::size_t turn = 0;
  for (const Pooling pooling : {Pooling::sum, Pooling::none}) {
    const RunOptions options = small_case(pooling, OptimizerKind::sgd, true);
    for (const std::string_view planner : planners_of_every_kind(comm.size()))
      for (const auto& transfer : placement::transfers) {
        const char* exchange = exchanges[turn++ % exchanges.size()];
        EXPECT_EQ(0, wrong_values(comm, options, plan_of(planner, options, comm.size()),
                                  {.movement = {.transfer = transfer.value, .wire_ids = placement::WireIds::int64},
                                   .exchange = comm::exchange_named(exchange)}))
            << name_of(pooling) << " " << planner << " " << transfer.name << " " << exchange;
      }
  }
}

TEST(TrainingStep, NarrowWiresStayInsideTheirBound) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const auto movements = narrow_movements();
  std::size_t next = 0;
  const std::array<std::string_view, 4> plans{"row_wise", "table_wise", "column_wise", "data_parallel+table_wise"};
  for (const auto& pooling : poolings)
    for (const auto& optimizer : optimizers) {
      const RunOptions options = small_case(pooling.value, optimizer.value, next % 3 == 0);
      const placement::Plan plan = plan_of(plans[next % plans.size()], options, comm.size());
      const Case& movement = movements[next++ % movements.size()];
      try {
        placement::require_supported(plan, options.workload.tables, options.workload.features, movement.movement);
      } catch (const InputError&) {
        continue;
      }
      EXPECT_EQ(0, wrong_values(comm, options, plan, movement))
          << pooling.name << " " << optimizer.name << " " << plan.name << " " << movement.name();
    }
}

TEST(TrainingStep, ReduceScatterTakesNarrowWiresWhereNoRowsAreSplit) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  for (const placement::RowTransfer transfer :
       {placement::RowTransfer::reduce_scatter, placement::RowTransfer::reduce_scatter_pairwise,
        placement::RowTransfer::reduce_scatter_halving}) {
    const Case movement{.movement = {.transfer = transfer, .wire = {ValueType::bf16, ValueType::fp16}}};
    EXPECT_EQ(0, wrong_values(comm, options, plan_of("table_wise", options, comm.size()), movement));
    const placement::Plan row_wise = plan_of("row_wise", options, comm.size());
    const Workload& workload = options.workload;
    if (comm.size() > 1)
      EXPECT_THROW(placement::require_supported(row_wise, workload.tables, workload.features, movement.movement),
                   InputError);
    else
      EXPECT_EQ(0, wrong_values(comm, options, row_wise, movement));
  }
}

TEST(TrainingStep, WeightDecayAndStochasticRoundingInEveryMovement) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  Movements movements(comm, small_case(Pooling::sum, OptimizerKind::sgd, false));
  for (const auto& optimizer : optimizers)
    for (const auto& mode : weight_decays)
      for (const ValueType type : {ValueType::fp32, ValueType::fp16, ValueType::bf16}) {
        SCOPED_TRACE(fmt::format("{} {} {}", optimizer.name, mode.name, name_of(type)));
        RunOptions options = small_case(Pooling::sum, optimizer.value, false, type);
        for (Table& table : options.workload.tables) {
          table.stochastic_rounding = true;
          table.optimizer.weight_decay = 0.25F;
          table.optimizer.weight_decay_mode = mode.value;
        }
        movements.check_next(options);
      }
}

TEST(TrainingStep, ReplicatedGradientsByRowsForEveryPoolingAndOptimizer) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const auto& pooling : poolings)
    for (const auto& optimizer : optimizers) {
      SCOPED_TRACE(fmt::format("{} {}", pooling.name, optimizer.name));
      RunOptions options = small_case(pooling.value, optimizer.value, false);
      options.workload.tables[1].dim = 200;  // more than a row's gradient in one piece
      options.workload.tables[2].value_type = ValueType::bf16;
      EXPECT_EQ(0, wrong_values(comm, options, plan_of("data_parallel", options, comm.size()),
                                {.movement = {.replicated_gradients = placement::ReplicatedGradients::rows}}));
    }
}

TEST(TrainingStep, RowsThatInt32CannotNumberAreNotGathered) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  comm::ProgressThread progress;
  comm::SentBytes sent(comm.rank(), comm.size());
  RowGather gather(comm, progress, sent);
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  EXPECT_NO_THROW(gather.place({4}, {0, most}));
  EXPECT_THROW(gather.place({4}, {0, most + 1}), InputError);
}

TEST(TrainingStep, ColumnShardsKeepTheRowWideOptimizersWhole) {
  for (const auto kind : {OptimizerKind::rowwise_adagrad, OptimizerKind::rowwise_adam, OptimizerKind::lamb}) {
    SCOPED_TRACE(name_of(kind));
    const comm::Communicator comm(MPI_COMM_WORLD);
    RunOptions options = small_case(Pooling::sum, kind, false);
    options.workload.tables[1].optimizer.kind = OptimizerKind::lamb;
    EXPECT_EQ(0, wrong_values(comm, options, plan_of("column_wise", options, comm.size()), {}));
  }
}

TEST(TrainingStep, WhatNoStepCanDoIsRefusedByName) {
  const RunOptions options = small_case(Pooling::max, OptimizerKind::adam, false, ValueType::int8);
  const auto message_of = [&](const Workload& workload, const placement::Movement& movement = {}) -> std::string {
    try {
      placement::require_supported(plan_of("row_wise", options, 2), workload.tables, workload.features, movement);
    } catch (const InputError& error) {
      return error.what();
    }
    return "supported";
  };
  EXPECT_EQ(message_of(options.workload).find("table t0: int8 rows"), 0u);
  EXPECT_NE(message_of(small_case(Pooling::max, OptimizerKind::adam, false).workload).find("feature f0 pools by max"),
            std::string::npos);
  EXPECT_EQ(message_of(small_case(Pooling::max, OptimizerKind::adam, false).workload,
                       {.transfer = placement::RowTransfer::unique_rows}),
            "supported");
  EXPECT_EQ(message_of(small_case(Pooling::sum, OptimizerKind::adam, false).workload), "supported");
}

TEST(TrainingStep, MixedPoolingsAndOptimizersWithUnweightedIds) {
  RunOptions options = small_case(Pooling::mean, OptimizerKind::rowwise_adagrad, false);
  options.workload.ids.weighted = false;
  options.workload.features[1].pooling = Pooling::none;
  options.workload.features[3].pooling = Pooling::sqrtn;
  options.workload.tables[2].optimizer.kind = OptimizerKind::sgd;
  options.workload.tables[4].optimizer.kind = OptimizerKind::adam;
  options.workload.tables[1].value_type = ValueType::bf16;
  options.workload.tables[3].value_type = ValueType::fp16;
  check_all_movements(options);
}

TEST(TrainingStep, MoreRanksThanSamples) {
  RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  options.workload.global_batch = 1;
  check_all_movements(options);
}

TEST(TrainingStep, RandomGridsOfShards) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    RunOptions options = small_case(Pooling::mean, OptimizerKind::rowwise_adagrad, false);
    const placement::Plan plan = placement::random_plan(options.workload.tables, comm.size(), random);
    placement::require_sound(plan, options.workload.tables, "random plan");
    for (const auto& transfer : placement::transfers)
      EXPECT_EQ(0,
                wrong_values(comm, options, plan,
                             {.movement = {.transfer = transfer.value}, .exchange = comm::exchange_named("pairwise")}))
          << transfer.name;
  }
}

TEST(TrainingStep, ReduceScatterRefusesTwoRowShardsOfOneStrip) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  placement::Plan plan = plan_of("table_wise", options, comm.size());
  plan.tables[1].shards = {{{0, 50, 2}, 0, 16, 0}, {{1, 50, 2}, 0, 16, 0}};
  EXPECT_EQ(0, wrong_values(comm, options, plan, {.exchange = comm::exchange_named("pairwise")}));
  EXPECT_EQ(0, wrong_values(comm, options, plan, {.movement = {.transfer = placement::RowTransfer::node_partials}}));
  for (const auto& choice : placement::transfers) {
    if (!placement::adds_on_the_way(choice.value)) continue;
    try {
      placement::require_supported(plan, options.workload.tables, options.workload.features,
                                   {.transfer = choice.value});
      ADD_FAILURE() << choice.name;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("transfer " + std::string(choice.name)), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace shardmark::workloads
