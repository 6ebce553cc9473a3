// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "comm/placement/cost/far_rows.hpp"
#include "comm/placement/cost/step_cost.hpp"
#include "comm/placement/planner.hpp"

namespace shardmark::placement {
namespace {

/// Messages of 1 s and 10 ms per byte.
const MessageCost slow{{{0, 1}, {100, 2}}};

MachineModel slow_machine() {
  MachineModel machine;
  machine.exchanges["mpi_alltoallv"] = {slow, slow};
  machine.all_reduce_inside = machine.all_reduce_between = slow;
  return machine;
}

/// A table of 100 rows and 16 columns, uniform ids, one to a bag, 8 samples.
struct UniformTable {
  std::vector<Table> tables{{.name = "t", .rows = 100, .dim = 16}};
  std::vector<Feature> features{{.name = "f", .table = 0, .pooling = Pooling::sum, .hotness = 1}};
  LookupStatistics statistics{tables, features, {}};

  StepContext step(int ranks) const {
    return {.statistics = statistics, .ranks = ranks, .ranks_per_node = ranks, .global_batch = 8};
  }
  Plan plan(std::string_view planner, int ranks) const {
    return make_plan(planner, tables, features, {.ranks = ranks, .global_batch = 8});
  }
};

double seconds(const StepPrediction& step, Phase phase) { return step.phases[index_of(phase)].seconds; }

TEST(StepCost, OfAWholeTableOnTwoRanksByHand) {
  const UniformTable one;
  MachineModel machine = slow_machine();
  at(machine.seconds, Term::route_cell) = 10;
  at(machine.seconds, Term::lookup_value) = 0.25;
  at(machine.seconds, Term::update_id) = 100;
  at(machine.seconds, Term::update_shard) = 7;
  const StepPrediction step = predict_step(one.step(2), machine, one.plan("table_wise", 2));
  // Rank 0 writes the lengths of its 4 bags and reads those of all 8. Rank 1 tells it 4 lengths, 4 ids: 32 bytes; that
  // there are two messages costs one more, of a byte.
  EXPECT_NEAR(seconds(step, Phase::input_dist), 10 * (4 + 8) + (1 + 0.32) + (1 + 0.01), 1e-9);
  // 8 rows of 16 values read, 8 vectors written.
  EXPECT_NEAR(seconds(step, Phase::lookup), 0.25 * (8 * 16 + 8 * 16), 1e-9);
  // 4 vectors of 64 bytes to rank 1, and 4 gradients back.
  EXPECT_NEAR(seconds(step, Phase::output_dist), 1 + 2.56, 1e-9);
  EXPECT_NEAR(seconds(step, Phase::grad_dist), 1 + 2.56, 1e-9);
  EXPECT_NEAR(seconds(step, Phase::update), 800 + 7, 1e-9);
  EXPECT_EQ(step.sent, (std::vector<double>{256, 32 + 256}));
  double sum = 0.0;
  for (const PhasePrediction& phase : step.phases) sum += phase.seconds;
  EXPECT_NEAR(step.seconds, sum, 1e-9);
}

TEST(StepCost, OfACopyOnEachOfTwoRanksByHand) {
  const UniformTable one;
  MachineModel machine = slow_machine();
  at(machine.seconds, Term::lookup_id) = 5;
  at(machine.seconds, Term::update_shard) = 7;
  const StepPrediction step = predict_step(one.step(2), machine, one.plan("data_parallel", 2));
  EXPECT_NEAR(seconds(step, Phase::input_dist), 0, 1e-9);
  EXPECT_NEAR(seconds(step, Phase::lookup), 5 * 4, 1e-9);
  // 100 rows of 16 gradients and a count, in a ring of 2 steps with half of them.
  EXPECT_NEAR(seconds(step, Phase::update), 7 + 2 * (1 + 0.01 * 100 * 17 * 4 / 2), 1e-9);
}

TEST(StepCost, GradientsOfFewRowsAreAddedAndNotSortedByHand) {
  UniformTable one;
  MachineModel machine = slow_machine();
  machine.cache_per_rank = 1e-9;  // holds no gradient
  machine.on_processors = true;
  const auto counted = [&](std::int64_t rows, std::int64_t batch, bool weighted, Pooling pooling) {
    one.tables[0].rows = rows;
    one.features[0].pooling = pooling;
    const LookupStatistics statistics(one.tables, one.features, {});
    const StepContext step{
        .statistics = statistics, .ranks = 1, .ranks_per_node = 1, .global_batch = batch, .weighted = weighted};
    const Plan plan = make_plan("table_wise", one.tables, one.features, {.ranks = 1, .global_batch = batch});
    return finished_counts(settled(step, machine, plan),
                           step_work(settled(step, machine, plan), machine, plan).ranks[0]);
  };
  const auto sorted = [&](const TermCounts& counts) { return at(counts, Term::update_sorted_id); };
  const TermCounts few = counted(100, 4096, false, Pooling::sum);
  EXPECT_EQ(sorted(few), 0);
  EXPECT_EQ(at(few, Term::update_vector_line), 0);
  EXPECT_EQ(at(few, Term::update_gradient_line), 0);
  EXPECT_NEAR(at(few, Term::update_ordered_line), 4096, 1e-6);
  EXPECT_NEAR(at(few, Term::update_value), 16 * (4096 + 100), 1e-6);  // added to sums, which are then the gradients
  EXPECT_NEAR(at(few, Term::update_id), 4096, 1e-9);
  EXPECT_NEAR(sorted(counted(100, 4096, true, Pooling::sum)), 4096, 1e-9);
  EXPECT_NEAR(sorted(counted(100, 4096, false, Pooling::max)), 4096, 1e-9);
  EXPECT_NEAR(sorted(counted(100, 199, false, Pooling::sum)), 199, 1e-9);  // fewer bags than twice the rows
  const TermCounts many = counted(5000, 20000, false, Pooling::sum);       // the sums of 5,000 rows leave the cache
  EXPECT_NEAR(sorted(many), 20000, 1e-6);
  EXPECT_NEAR(at(many, Term::update_vector_line), 20000, 1e-6);
  EXPECT_NEAR(at(many, Term::update_gradient_line), 20000, 1e-6);
  EXPECT_EQ(at(many, Term::update_ordered_line), 0);
  EXPECT_NEAR(sorted(counted(10000, 20000, false, Pooling::sum)), 2 * 20000, 1e-6);  // 14 bits take two passes
  machine.on_processors = false;
  EXPECT_NEAR(sorted(counted(100, 4096, false, Pooling::sum)), 4096, 1e-9);
}

TEST(StepCost, RowsThatNoCacheHoldsByHand) {
  const UniformTable one;  // rows of 64 bytes; 8 ids a step
  const auto distinct = [](double ids) { return 100 * (1 - std::pow(0.99, ids)); };
  StepContext step = one.step(1);
  const auto far = [&](std::optional<double> cached, double cache) {
    step.cached_samples = cached;
    return far_rows(step, 0, {0, 100, 1}, 1.0, cache);
  };
  const FarRows none = far({}, 0);
  EXPECT_NEAR(none.lookup, distinct(8), 1e-9);
  EXPECT_EQ(none.update, 0);
  const FarRows held = far(24, 1e6);  // what was used in the three steps before
  EXPECT_NEAR(held.lookup, distinct(32) - distinct(24), 1e-9);
  EXPECT_EQ(held.update, 0);
  EXPECT_NEAR(held.state, held.lookup, 1e-9);
  const FarRows half = far(4, 1e6);  // half of what a step uses
  EXPECT_NEAR(half.update, distinct(8) / 2, 1e-9);
  EXPECT_NEAR(half.lookup, (distinct(12) - distinct(4)) / 2 + distinct(8) / 2, 1e-9);
  // A quarter of the rows that a step reads of this table alone: those of 2 samples.
  const FarRows own = far(0, distinct(8) * 64 / 4);
  EXPECT_NEAR(own.lookup, 8 * (distinct(3) - distinct(2)), 1e-9);
  EXPECT_GT(own.lookup, distinct(8));
  EXPECT_NEAR(own.update, distinct(8), 1e-9);
}

TEST(StepCost, OfGradientsBeyondTheCacheByHand) {
  const UniformTable one;  // 8 vectors of 64 bytes
  MachineModel machine = slow_machine();
  machine.cache_per_rank = 8 * 64 / 4.0;
  const Plan plan = one.plan("table_wise", 1);
  const StepContext step = settled(one.step(1), machine, plan);
  EXPECT_NEAR(at(step_work(step, machine, plan).ranks[0].counts, Term::update_gradient_line), 0.75 * 8, 1e-9);
}

TEST(StepCost, MeansAreDividedWhereBagsHaveSeveralIdsOrWeights) {
  UniformTable one;
  one.features[0].pooling = Pooling::mean;
  const auto gradient_values = [&](std::int64_t hotness, bool weighted) {
    one.features[0].hotness = hotness;
    const LookupStatistics statistics(one.tables, one.features, {});
    const StepContext step{
        .statistics = statistics, .ranks = 2, .ranks_per_node = 2, .global_batch = 8, .weighted = weighted};
    const Plan plan = one.plan("table_wise", 2);
    return at(step_work(settled(step, slow_machine(), plan), slow_machine(), plan).ranks[0].counts,
              Term::gradient_value);
  };
  const double summed = gradient_values(1, false);
  EXPECT_EQ(summed, 2 * 4 * 16);  // 4 own samples of 16 columns are packed
  EXPECT_EQ(gradient_values(3, false), summed + 4 * 4 * 16);
  EXPECT_EQ(gradient_values(1, true), summed + 4 * 4 * 16);
}

TEST(StepCost, OfKeysIsThatOfTablesWhoseRowsComeAndGoByHand) {
  constexpr std::array of_keys{Term::route_key, Term::key_id,   Term::sorted_key,
                               Term::key,       Term::key_line, Term::new_key};
  UniformTable one;
  const auto counted = [&](Storage storage, bool any_key, std::string_view planner) {
    one.tables[0].storage = storage;
    one.tables[0].any_key = any_key;
    const LookupStatistics statistics(one.tables, one.features, {.fresh = 0.25});
    const StepContext open{.statistics = statistics, .ranks = 2, .ranks_per_node = 2, .global_batch = 8};
    const Plan plan = one.plan(planner, 2);
    const StepContext step = settled(open, slow_machine(), plan);
    RankWork all;
    for (const RankWork& rank : step_work(step, slow_machine(), plan).ranks) all += rank;
    return all.counts;
  };
  const double distinct = 100 * (1 - std::pow(0.99, 8));  // rows of 8 uniform ids of 100
  for (const std::string_view planner : {"table_wise", "row_wise"}) {
    SCOPED_TRACE(planner);
    const TermCounts dense = counted(Storage::dense, false, planner);
    for (const Term term : of_keys) EXPECT_EQ(at(dense, term), 0) << terms[static_cast<std::size_t>(term)].name;
    EXPECT_NEAR(at(dense, Term::update_sorted_id), 8, 1e-9);
    EXPECT_NEAR(at(dense, Term::route_split_id), planner == "row_wise" ? 8 : 0, 1e-9);
    const TermCounts keys = counted(Storage::dynamic, false, planner);
    EXPECT_EQ(at(keys, Term::route_split_id), 0);
    EXPECT_NEAR(at(keys, Term::sorted_key), 8, 0.2);  // shares of buckets are not those of rows
    EXPECT_EQ(at(keys, Term::key_id), 0);
    EXPECT_NEAR(at(keys, Term::key), distinct, 0.2);
    EXPECT_NEAR(at(keys, Term::key_line), 2 * distinct, 0.4);  // of the key and of its uses: no cache holds anything
    EXPECT_NEAR(at(keys, Term::route_key) / 2, planner == "row_wise" ? 8 : 0, 0.2);  // counted, then put where they go
    EXPECT_EQ(at(keys, Term::new_key), 0);
    EXPECT_EQ(at(keys, Term::update_sorted_id), 0);
    const TermCounts any_keys = counted(Storage::dynamic, true, planner);
    EXPECT_NEAR(at(any_keys, Term::new_key), 0.25 * 8, 1e-9);
    EXPECT_NEAR(at(any_keys, Term::key_id), 8, 0.2);
    EXPECT_EQ(at(any_keys, Term::sorted_key), 0);
    EXPECT_NEAR(at(any_keys, Term::update_sorted_id), 8, 0.2);
  }
}

TEST(StepCost, OfTheSortOfIdsHasHistogramsHoweverFewTheyAreByHand) {
  UniformTable one;
  const auto counted = [&](std::int64_t rows, std::int64_t groups, RowTransfer transfer) {
    one.tables[0].rows = rows;
    const LookupStatistics statistics(one.tables, one.features, {});
    StepContext open{.statistics = statistics, .ranks = 2, .ranks_per_node = 2, .global_batch = 8};
    open.groups = groups;
    open.movement = {.transfer = transfer, .dedup = Dedup::local};
    const Plan plan = one.plan("row_wise", 2);
    const StepContext step = settled(open, slow_machine(), plan);
    return finished_counts(step, step_work(step, slow_machine(), plan).ranks[0]);
  };
  const TermCounts few = counted(100, 1, RowTransfer::unique_rows);  // 7 bits in one pass, of 4 own samples
  EXPECT_EQ(at(few, Term::sort_digit), 128);
  EXPECT_NEAR(at(few, Term::sorted_id), 4, 1e-9);
  const TermCounts more = counted(1 << 14, 3, RowTransfer::unique_rows);  // 14 bits in two
  EXPECT_EQ(at(more, Term::sort_digit), 3 * 2 * 128);
  EXPECT_NEAR(at(more, Term::sorted_id), 2 * 4, 1e-9);
  EXPECT_EQ(at(counted(100, 1, RowTransfer::dense_partials), Term::sort_digit), 0);
}

TEST(StepCost, WhatARankSendsItselfIsCopiedOnlyInNarrowTypes) {
  const UniformTable one;
  MachineModel machine = slow_machine();
  at(machine.seconds, Term::gradient_value) = 1;
  StepContext step = one.step(2);
  // Rank 0 packs the gradients of its 4 samples.
  EXPECT_NEAR(seconds(predict_step(step, machine, one.plan("table_wise", 2)), Phase::grad_dist), 2 * 64 + 1 + 2.56,
              1e-9);
  step.movement.wire = {ValueType::fp16, ValueType::fp16};
  // It copies them to itself besides.
  EXPECT_NEAR(seconds(predict_step(step, machine, one.plan("table_wise", 2)), Phase::grad_dist), 4 * 64 + 1 + 1.28,
              1e-9);
}

TEST(StepCost, OneRankExchangesNothing) {
  const UniformTable one;
  for (const Planner& planner : planners) {
    if (!planner.settings.empty()) continue;
    const StepPrediction step = predict_step(one.step(1), slow_machine(), one.plan(planner.name, 1));
    for (const PhasePrediction& phase : step.phases) EXPECT_EQ(phase.exchange, 0) << planner.name;
    EXPECT_EQ(step.seconds, 0) << planner.name;
  }
}

/// Tables of several kinds, for planners to split.
struct SomeTables {
  std::vector<Table> tables;
  std::vector<Feature> features;
  std::unique_ptr<LookupStatistics> statistics;

  SomeTables() {
    for (int t = 0; t < 6; ++t) {
      tables.push_back({.name = "t" + std::to_string(t), .rows = 50 << (2 * t), .dim = 8 << (t % 3)});
      features.push_back({"f" + std::to_string(t), t, t % 2 ? Pooling::mean : Pooling::sum, 1 + t});
    }
    features.push_back({"f6", 0, Pooling::sum, 2});
    statistics = std::make_unique<LookupStatistics>(tables, features, IdStatistics{.alpha = 1.05});
  }
  StepContext step(int ranks) const {
    return {.statistics = *statistics, .ranks = ranks, .ranks_per_node = (ranks + 1) / 2, .global_batch = 64 * ranks};
  }
  Plan plan(std::string_view planner, int ranks) const {
    return make_plan(planner, tables, features, {.ranks = ranks});
  }
};

void expect_near(const RankWork& a, const RankWork& b) {
  for (std::size_t t = 0; t < terms.size(); ++t) EXPECT_NEAR(a.counts[t], b.counts[t], 1e-6) << terms[t].name;
  EXPECT_NEAR(a.vectors.all, b.vectors.all, 1e-6);
  EXPECT_NEAR(a.requested.all, b.requested.all, 1e-6);
  EXPECT_NEAR(a.memory, b.memory, 1e-3);
}

TEST(StepCost, OfTablesAddsUp) {
  const SomeTables some;
  const MachineModel& machine = described_cluster();
  for (const RowTransfer transfer :
       {RowTransfer::dense_partials, RowTransfer::unique_rows, RowTransfer::reduce_scatter, RowTransfer::automatic})
    for (const std::string_view planner : {"row_wise", "column_wise", "data_parallel+table_wise"}) {
      StepContext open = some.step(4);
      open.movement.transfer = transfer;
      const Plan plan = some.plan(planner, 4);
      const StepContext step = settled(open, machine, plan);
      const StepWork whole = step_work(step, machine, plan);
      std::vector<RankWork> without = whole.ranks;
      for (std::int64_t t = std::ssize(plan.tables) - 1; t >= 0; --t) {
        const TableWork table = table_work(step, machine, t, plan.tables[t]);
        for (RankWork& rank : without) rank -= table.everywhere;
        for (const auto& [rank, work] : table.at) without[rank] -= work;
      }
      for (const RankWork& rank : without) expect_near(rank, RankWork{});
    }
}

TEST(StepCost, OfAPhaseIsThatOfTheSlowestRank) {
  const SomeTables some;
  MachineModel machine = described_cluster();
  machine.exchanges.clear();
  machine.node_bytes_per_second = 0.0;
  const StepContext step = settled(some.step(3), machine, some.plan("table_wise", 3));
  const StepWork work = step_work(step, machine, some.plan("table_wise", 3));
  const StepPrediction predicted = predict_work(step, machine, work);
  std::array<double, phase_count> most{};
  for (const RankWork& rank : work.ranks) {
    const auto of_rank = compute_seconds(machine, finished_counts(step, rank));
    for (std::size_t p = 0; p < phase_count; ++p) most[p] = std::max(most[p], of_rank[p]);
  }
  for (std::size_t p = 0; p + 1 < phase_count; ++p) {
    EXPECT_DOUBLE_EQ(predicted.phases[p].seconds, most[p]) << phase_names[p];
    EXPECT_LE(predicted.phases[p].mean, most[p] * (1 + 1e-12));
  }
}

TEST(StepCost, GrowsWithTheBatchAndShrinksWithNarrowWires) {
  const SomeTables some;
  MachineModel machine = described_cluster();
  at(machine.seconds, Term::coded_value) = at(machine.seconds, Term::coded_gradient) = 0;
  for (const Planner& planner : planners) {
    if (!planner.settings.empty()) continue;
    double before = 0.0;
    for (std::int64_t batch = 64; batch <= 65536; batch *= 4) {
      StepContext step = some.step(4);
      step.global_batch = batch;
      const double wide = predict_step(step, machine, some.plan(planner.name, 4)).seconds;
      step.movement.wire = {ValueType::fp16, ValueType::fp16};
      EXPECT_LE(predict_step(step, machine, some.plan(planner.name, 4)).seconds, wide) << planner.name;
      EXPECT_GT(wide, before) << planner.name << ' ' << batch;
      before = wide;
    }
  }
}

TEST(StepCost, GroupsHideTheShorterOfComputingAndTravelling) {
  const SomeTables some;
  const MachineModel& machine = described_cluster();
  StepContext step = some.step(4);
  step.global_batch = 1 << 18;
  const Plan plan = some.plan("table_wise", 4);
  const double alone = predict_step(step, machine, plan).seconds;
  step.groups = 3;
  const double overlapped = predict_step(step, machine, plan).seconds;
  EXPECT_LT(overlapped, alone);
  EXPECT_GT(overlapped, alone / 2);
}

std::array<ExchangeTime, phase_count> messages(const std::array<double, phase_count>& seconds) {
  std::array<ExchangeTime, phase_count> times;
  for (std::size_t p = 0; p < phase_count; ++p) times[p] = {seconds[p]};
  return times;
}

/// Takes many steps, one behind the other, through a bucket that is full at first; returns the seconds of the last.
double many_steps(const std::array<double, phase_count>& computing,
                  const std::array<ExchangeTime, phase_count>& exchanging, double burst) {
  double level = burst, seconds = 0.0;
  const auto pass = [&](double time, double used) {
    const double held_back = std::max(0.0, used - time - level);
    seconds += time + held_back;
    level = std::min(burst, level + time + held_back - used);
  };
  // In update rows are computed behind what travels, in the other phases before it.
  for (int step = 0; step < 2000; ++step) {
    seconds = 0.0;
    for (std::size_t p = 0; p + 1 < phase_count; ++p) {
      pass(computing[p], 0.0);
      if (exchanging[p].links > 0.0) pass(exchanging[p].messages, exchanging[p].links);
    }
    pass(exchanging.back().messages, exchanging.back().links);
    pass(computing.back(), 0.0);
  }
  return seconds;
}

TEST(StepPath, IsThatOfManyStepsWhereLinksHaveALimit) {
  const UniformTable one;
  StepContext step = one.step(2);
  step.ranks_per_node = 1;
  int held_back = 0, regained = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const auto drawn = [&](double most) { return most * static_cast<double>(random() % 1000 + 1) / 1000; };
    std::array<double, phase_count> computing{};
    for (double& each : computing) each = drawn(20);
    std::array<ExchangeTime, phase_count> exchanging;
    for (const Phase phase : {Phase::input_dist, Phase::output_dist, Phase::dense, Phase::grad_dist, Phase::update}) {
      exchanging[index_of(phase)] = {drawn(10), drawn(seed % 2 == 0 ? 20 : 50)};
    }
    MachineModel machine;
    machine.limit = {1.0, drawn(40)};
    const StepPath path = step_path(step, machine, computing, exchanging);
    const double expected = many_steps(computing, exchanging, machine.limit.burst);
    EXPECT_NEAR(path.seconds, expected, 1e-9 * expected);
    double parts = 0.0, held = 0.0, used = 0.0;
    for (std::size_t p = 0; p < path.count; ++p) {
      parts += path.parts[p].seconds;
      held += path.parts[p].held_back;
    }
    for (const ExchangeTime& time : exchanging) used += time.links;
    EXPECT_NEAR(parts, path.seconds, 1e-9 * parts);
    EXPECT_GE(path.seconds * (1 + 1e-12), used);
    ++(held > 0.0 ? held_back : regained);
  }
  EXPECT_GT(held_back, 100);
  EXPECT_GT(regained, 50);
}

TEST(StepPath, OfPhasesThatDoNotOverlapIsTheirSum) {
  const UniformTable one;
  StepContext step = one.step(2);
  const std::array<double, phase_count> computing{1, 2, 3, 60, 5, 6};
  const auto exchanging = messages({10, 0, 30, 40, 50, 70});
  MachineModel machine;
  const StepPath path = step_path(step, machine, computing, exchanging);
  EXPECT_DOUBLE_EQ(path.seconds, 77 + 200);
  double critical = 0.0;
  for (std::size_t p = 0; p < path.count; ++p) critical += path.parts[p].critical ? path.parts[p].seconds : 0.0;
  EXPECT_DOUBLE_EQ(critical, path.seconds);
  step.groups = 4;  // forward 40 s of exchanges hide 6 s, backward 120 s hide 11 s, but for those of one group
  EXPECT_DOUBLE_EQ(step_path(step, machine, computing, exchanging).seconds, 40 + 6 / 4.0 + 100 + 120 + 11 / 4.0);
}

TEST(StepPath, LeavesOutWhatTheSoftwareOverlaps) {
  const UniformTable one;
  const StepContext step = one.step(2);
  const std::array<double, phase_count> computing{1, 2, 3, 60, 5, 6};
  const auto exchanging = messages({10, 0, 30, 40, 50, 70});
  const auto with = [&](std::initializer_list<Overlap> which) {
    MachineModel machine;
    for (const Overlap overlap : which) machine.software.overlaps.set(index_of(overlap));
    return step_path(step, machine, computing, exchanging);
  };
  const double alone = with({}).seconds;
  EXPECT_DOUBLE_EQ(with({Overlap::input}).seconds, alone - 11);
  EXPECT_DOUBLE_EQ(with({Overlap::weights}).seconds, alone - 20);  // a third of 60 while gradients travel for 50
  // Links are busy with gradients, sums and replicated rows, of which only these must end before rows are updated.
  EXPECT_DOUBLE_EQ(with({Overlap::sums}).seconds, alone);
  EXPECT_DOUBLE_EQ(with({Overlap::sums, Overlap::replicas}).seconds, alone - 6);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    std::array<double, phase_count> computes{}, exchanges{};
    for (double& each : computes) each = static_cast<double>(random() % 100);
    for (double& each : exchanges) each = static_cast<double>(random() % 100);
    exchanges[index_of(Phase::lookup)] = 0;  // nothing travels
    MachineModel machine;
    double before = step_path(step, machine, computes, messages(exchanges)).seconds;
    for (const auto& overlap : overlaps) {
      machine.software.overlaps.set(index_of(overlap.value));
      const StepPath path = step_path(step, machine, computes, messages(exchanges));
      EXPECT_LE(path.seconds, before * (1 + 1e-12)) << overlap.name << ", seed " << seed;
      EXPECT_GE(path.seconds * (1 + 1e-12), std::accumulate(computes.begin(), computes.end(), 0.0));
      EXPECT_GE(path.seconds * (1 + 1e-12), std::accumulate(exchanges.begin(), exchanges.end(), 0.0));
      double critical = 0.0;
      for (std::size_t p = 0; p < path.count; ++p) critical += path.parts[p].critical ? path.parts[p].seconds : 0.0;
      EXPECT_NEAR(critical, path.seconds, 1e-9 * path.seconds);
      before = path.seconds;
    }
  }
}

/// Groups hide exchanges between hosts, and nothing where the cores that compute copy what travels.
TEST(StepCost, GroupsHideNothingWhereProcessorsCopyByHand) {
  const SomeTables some;
  StepContext step = some.step(4);
  std::array<double, phase_count> computes{};
  std::array<double, phase_count> exchanges{};
  computes[index_of(Phase::lookup)] = 10;
  exchanges[index_of(Phase::output_dist)] = 4;
  MachineModel machine;
  const auto seconds = [&](int groups, bool on_processors, int ranks_per_node) {
    step.groups = groups;
    step.ranks_per_node = ranks_per_node;
    machine.on_processors = on_processors;
    return step_path(step, machine, computes, messages(exchanges)).seconds;
  };
  EXPECT_EQ(seconds(1, false, 4), 14);
  EXPECT_EQ(seconds(4, false, 4), 11);
  EXPECT_EQ(seconds(4, true, 2), 11);
  EXPECT_EQ(seconds(4, true, 4), 14);
}

TEST(StepCost, OfHotRowsIsThatOfCopiesAndOfTheRest) {
  const SomeTables some;
  const MachineModel& machine = described_cluster();
  const StepContext step = settled(some.step(4), machine, some.plan("table_wise", 4));
  TablePlacement placement{.shards = {{{1000, some.tables[5].rows, 1}, 0, some.tables[5].dim, 2}}, .hot_rows = 1000};
  const TableWork hot = table_work(step, machine, 5, placement);
  const double hot_ids = some.statistics->expected(5, {0, 1000, 1}, step.samples()).ids;
  const double cold_ids = some.statistics->expected(5, placement.shards[0].rows, step.global_batch).ids;
  EXPECT_NEAR(at(hot.everywhere.counts, Term::lookup_id), hot_ids, 1e-9);
  EXPECT_NEAR(at(hot.everywhere.counts, Term::route_split_id), hot_ids + cold_ids / 4, 1e-6);  // of 4 ranks alike
  ASSERT_EQ(hot.at.size(), 1U);
  EXPECT_EQ(hot.at[0].first, 2);
  EXPECT_NEAR(at(hot.at[0].second.counts, Term::lookup_id), cold_ids, 1e-9);
  EXPECT_EQ(hot.totals.all_reduced, 4.0 * 1000 * static_cast<double>(some.tables[5].dim + 1));
}

TEST(StepCost, RowsThatACacheHoldsComeFromMemoryLessOften) {
  const SomeTables some;
  MachineModel machine = described_cluster();
  double before = 1e300;
  for (const double cache : {1e3, 1e5, 1e6, 1e8}) {
    machine.cache_per_rank = cache;
    const Plan plan = some.plan("table_wise", 2);
    const StepContext step = settled(some.step(2), machine, plan);
    double lines = 0.0;
    for (const RankWork& rank : step_work(step, machine, plan).ranks) lines += at(rank.counts, Term::lookup_line);
    EXPECT_LT(lines, before) << cache;
    before = lines;
  }
  EXPECT_LT(before, 1.0);  // all of the tables fit
}

}  // namespace
}  // namespace shardmark::placement
