// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "comm/placement/cost/row_transfer_choice.hpp"
#include "comm/placement/plan_check.hpp"
#include "comm/placement/search/seating.hpp"
#include "comm/placement/search/state.hpp"
#include "comm/placement/test/search_workload.hpp"

namespace shardmark::placement {
namespace {

/// Any option, on any ranks.
Placed any_place(const SearchProblem& problem, std::int64_t table, std::mt19937_64& random) {
  Placed placed;
  placed.option = static_cast<int>(random() % problem.kind(table).options.size());
  std::vector<int> ranks(static_cast<std::size_t>(problem.ranks()));
  for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r] = static_cast<int>(r);
  for (std::size_t seat = 0; seat < problem.work(table, placed.option).seats.size(); ++seat) {
    std::swap(ranks[seat], ranks[seat + random() % (ranks.size() - seat)]);
    placed.ranks.push_back(ranks[seat]);
  }
  return placed;
}

/// Of predict_step(), from scratch.
void expect_predicted(const SearchState& state, const SearchWorkload& workload) {
  const SearchProblem& problem = state.problem();
  const Plan plan = workload.plan(problem.ranks(), problem.placements(state.placed()));
  ASSERT_EQ(check(plan, workload.tables), std::vector<std::string>());
  const StepPrediction predicted = predict_step(problem.step(), problem.machine(), plan);
  EXPECT_NEAR(state.score().seconds, predicted.seconds, 1e-12 * predicted.seconds);
  double overflow = 0.0;
  for (const double bytes : predicted.memory) overflow += std::max(0.0, bytes - problem.memory());
  EXPECT_NEAR(state.score().overflow, overflow, 1.0 + 1e-9 * overflow);
  for (int rank = 0; rank < problem.ranks(); ++rank)
    EXPECT_NEAR(state.costs(rank)[RankCosts::memory], predicted.memory[static_cast<std::size_t>(rank)], 1.0);
}

/// Returns the described cluster with all that a machine of parts or a measured one has besides; switches: of two ranks
/// each, between nodes whose messages slow each other down.
MachineModel overlapping_cluster(bool switches) {
  MachineModel machine = described_cluster();
  ExchangeCost& cost = machine.exchanges.begin()->second;
  cost.call = 1e-5;
  cost.inside_round = 2e-6;
  cost.between_round = 5e-6;
  machine.all_reduce_call = 1e-5;
  machine.all_reduce_by_trees = true;
  machine.software.overlaps.set();
  machine.software.gradient_bytes = 2;
  machine.row_shares = {{64, 0.3}, {512, 0.6}};
  machine.switch_ranks = switches ? 2 : 0;
  machine.switch_bytes_per_second = 1e9;
  machine.alone.inside = {{64, 1.0}, {4096, 0.6}};
  if (switches) machine.alone.between = {{64, 1.0}, {4096, 0.5}};
  return machine;
}

struct Cluster {
  int ranks, per_node;
  std::string exchange;
};

/// Expects that one of the critical ranks has most of each cost, but for memory, which counts only where it lacks.
void expect_critical(const SearchState& state) {
  const std::vector<int> critical = state.critical_ranks();
  for (std::size_t cost = 0; cost < RankCosts::places; ++cost) {
    if (cost == RankCosts::memory) continue;
    double most = 0.0, of_critical = 0.0;
    for (int rank = 0; rank < state.problem().ranks(); ++rank) most = std::max(most, state.costs(rank)[cost]);
    for (const int rank : critical) of_critical = std::max(of_critical, state.costs(rank)[cost]);
    EXPECT_EQ(of_critical, most) << "cost " << cost;
  }
}

/// Draws a movement by that transfer, with dedup node where the nodes of the cluster allow it.
Movement any_movement(RowTransfer transfer, bool even_nodes, std::mt19937_64& random) {
  constexpr std::array ways{Dedup::local, Dedup::off, Dedup::owner, Dedup::local_owner, Dedup::node, Dedup::node};
  constexpr std::array types{ValueType::fp32, ValueType::fp16, ValueType::bf16};
  const auto draw = [&](const auto& of) { return of[random() % of.size()]; };
  Movement movement{.transfer = transfer, .dedup = draw(ways)};
  if (movement.dedup == Dedup::node && !even_nodes) movement.dedup = Dedup::local;
  if (random() % 2 == 0) movement.wire = {draw(types), draw(types)};
  if (random() % 5 == 0) movement.replicated_gradients = ReplicatedGradients::rows;
  return movement;
}

TEST(SearchState, costs_what_is_predicted_of_its_plan) {
  const std::vector<Cluster> clusters{{4, 4, "mpi_alltoallv"}, {8, 2, "mpi_alltoallv"}, {7, 3, "pairwise"},
                                      {6, 2, "node_aware"},    {8, 8, "bruck"},         {1, 1, "mpi_alltoallv"},
                                      {6, 6, "linear"},        {12, 4, "linear"},       {6, 3, "auto"}};
  std::uint64_t seed = 0;
  for (std::size_t number = 0; number < clusters.size() * transfers.size(); ++number) {
    std::mt19937_64 random(++seed);
    const Cluster& cluster = clusters[number % clusters.size()];
    const TransferChoice& transfer = transfers[number / clusters.size()];
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << cluster.ranks << " ranks, " << cluster.per_node
                                    << " a node, " << cluster.exchange << ", " << transfer.name);
    SearchWorkload workload = SearchWorkload::random(random, 5, seed % 3 == 0 ? 0.0 : 1.05);
    for (std::size_t t = 0; t < workload.tables.size(); ++t)
      if ((seed + t) % 4 == 0) workload.tables[t].storage = Storage::dynamic;
    workload.expect({.alpha = seed % 3 == 0 ? 0.0 : 1.05});
    StepContext requested = workload.step(cluster.ranks, cluster.per_node);
    requested.exchange = cluster.exchange;
    requested.groups = seed % 4 == 0 ? 2 : 1;
    requested.movement = any_movement(transfer.value, nodes_of(requested).even(), random);
    MachineModel machine = seed % 2 == 0 ? described_cluster() : overlapping_cluster(seed % 4 == 1);
    if (seed % 4 == 2) machine.limit = {1e8, 1e4};
    const StepContext step =
        settled(requested, machine,
                workload.plan(cluster.ranks, std::vector(5, TablePlacement{.data_parallel = true, .shards = {}})));
    const SearchProblem problem(step, machine, 4e6, all_families);
    std::vector<Placed> placed;
    for (std::int64_t t = 0; t < problem.tables(); ++t) placed.push_back(any_place(problem, t, random));
    SearchState state(problem, placed);
    expect_predicted(state, workload);
    for (int round = 0; round < 12; ++round) {
      std::vector<Change> changes;
      const std::int64_t table = static_cast<std::int64_t>(random() % 5);
      changes.push_back({table, any_place(problem, table, random)});
      if (round % 2 == 0) changes.push_back({(table + 1) % 5, any_place(problem, (table + 1) % 5, random)});
      if (round % 3 == 0) {  // the same option elsewhere
        changes.resize(1);
        Placed& to = changes[0].to = state.placed(table);
        for (int& rank : to.ranks) rank = (rank + 1) % problem.ranks();
      }
      const Score expected = state.with(changes);
      state.apply(changes);
      EXPECT_NEAR(state.score().seconds, expected.seconds, 1e-9 * expected.seconds);
      EXPECT_NEAR(state.score().overflow, expected.overflow, 1.0);
      EXPECT_NEAR(state.score().squares, expected.squares, 1e-9 * expected.squares);
      expect_predicted(state, workload);
      expect_critical(state);
      if (HasFailure()) return;
    }
  }
}

/// Node 0 is that of the home whose trips are counted.
TEST(SearchState, transfer_auto_is_the_same_whichever_node_has_the_rows) {
  int sums = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    const SearchWorkload workload = SearchWorkload::random(random, 1, seed % 2 == 0 ? 1.05 : 0.0);
    if (workload.features.empty() || workload.tables[0].rows < 4) continue;
    StepContext step = workload.step(8, 4);
    step.movement.transfer = RowTransfer::automatic;
    step.movement.dedup = Dedup::local;
    const auto transfer = [&](int first) {
      TablePlacement placement;
      for (int k = 0; k < 4; ++k)
        placement.shards.push_back({{k, workload.tables[0].rows, 4}, 0, workload.tables[0].dim, first + k});
      const ShardsByColumns strips = shards_by_columns(placement);
      const std::vector<const Shard*>& shards = strips.begin()->second;
      return transfer_of(step, 0, shards, home_lookups(step, 0, shards, step.samples()),
                         packing_of(step, 0, placement));
    };
    EXPECT_EQ(transfer(0), transfer(4)) << "seed " << seed;
    sums += transfer(4) == RowTransfer::node_partials ? 1 : 0;
  }
  EXPECT_GT(sums, 0);
}

TEST(SearchState, options_are_sound_and_different) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    const int ranks = 1 + static_cast<int>(seed % 9);
    const SearchWorkload workload = SearchWorkload::random(random, 3, 1.05);
    const StepContext step = workload.step(ranks, seed % 2 == 0 ? 2 : 0);
    const SearchProblem problem(step, described_cluster(), no_limit, all_families);
    for (const TableKind& kind : problem.kinds())
      for (const TableOption& option : kind.options) {
        const Table& table = workload.tables[static_cast<std::size_t>(kind.tables.front())];
        const Plan plan{.name = "option", .ranks = ranks, .tables = {option.placement}};
        EXPECT_EQ(check(plan, std::span(&table, 1)), std::vector<std::string>()) << "seed " << seed;
        EXPECT_LE(option.seats(), ranks);
        EXPECT_EQ(std::ranges::count(kind.options, option), 1);
      }
  }
}

TEST(SearchState, what_no_step_can_do_is_no_option) {
  SearchWorkload workload;
  workload.tables = {{.name = "T0", .rows = 1000, .dim = 16}};
  workload.features = {{"F0", 0, Pooling::max, 3}};
  workload.expect({.alpha = 1.2});
  const StepContext step = workload.step(4);
  const TableToPlace place{*workload.statistics, 0, 4, 4};
  for (const TableOption& option : table_options(place, step.movement, all_families))
    for (const Shard& shard : option.placement.shards) EXPECT_EQ(shard.rows.count(), 1000);
  workload.tables[0].value_type = ValueType::int8;
  workload.expect({});
  EXPECT_THROW(table_options({*workload.statistics, 0, 4, 4}, step.movement, all_families), InputError);
}

TEST(SearchState, skewed_tables_may_have_hot_rows_and_even_ones_not) {
  const auto has_hot_rows = [](double alpha) {
    SearchWorkload workload;
    workload.tables = {{.name = "T0", .rows = 1'000'000, .dim = 16}};
    workload.features = {{"F0", 0, Pooling::sum, 3}};
    workload.expect({.alpha = alpha});
    return std::ranges::any_of(table_options({*workload.statistics, 0, 4, 4}, {}, all_families),
                               [](const TableOption& option) { return option.placement.hot_rows > 0; });
  };
  EXPECT_TRUE(has_hot_rows(1.1));
  EXPECT_FALSE(has_hot_rows(0.0));
}

}  // namespace
}  // namespace shardmark::placement
