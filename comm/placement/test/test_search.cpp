// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "comm/placement/formats/plan_file.hpp"
#include "comm/placement/plan_check.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/search/longest_first.hpp"
#include "comm/placement/search/lower_bound.hpp"
#include "comm/placement/search/search.hpp"
#include "comm/placement/support.hpp"
#include "comm/placement/test/search_oracle.hpp"
#include "comm/placement/test/search_workload.hpp"

namespace shardmark::placement {
namespace {

SearchResult found(const SearchWorkload& workload, int ranks, std::vector<std::string_view> families = all_families,
                   std::optional<double> memory = {}, const MachineModel& machine = described_cluster()) {
  constexpr double seconds = 100.0;  // on a busy machine too the budget ends before the time
  return search(workload.step(ranks), machine, {.memory = memory, .seconds = seconds, .families = std::move(families)},
                {});
}

double predicted(const SearchWorkload& workload, int ranks, const std::vector<TablePlacement>& placements,
                 const MachineModel& machine = described_cluster()) {
  return predict_step(workload.step(ranks), machine, workload.plan(ranks, placements)).seconds;
}

/// Returns the described cluster; on_shared_memory: whose ranks slow each other down.
MachineModel cluster(bool on_shared_memory) {
  MachineModel machine = described_cluster();
  if (!on_shared_memory) return machine;
  machine.alone.inside = {{64, 1.0}, {4096, 0.6}};
  return machine;
}

/// Of the search, over the optimum, for random tables; also checks the bound and that the optimum is one.
std::vector<double> gaps(int instances, int tables, int ranks, const std::vector<std::string_view>& families) {
  std::vector<double> gaps;
  for (int seed = 0; seed < instances; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << tables << " tables, " << ranks << " ranks");
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const SearchWorkload workload = SearchWorkload::random(random, tables, seed % 2 == 0 ? 1.05 : 0.0);
    const MachineModel machine = cluster(seed % 3 == 2);
    const SearchResult result = found(workload, ranks, families, {}, machine);
    EXPECT_NEAR(result.report.seconds, predicted(workload, ranks, result.placements, machine),
                1e-9 * result.report.seconds);
    StepContext step = workload.step(ranks);
    step.movement.dedup = Dedup::local;
    const StepContext whole = settled(step, machine, workload.plan(ranks, result.placements));
    const SearchProblem problem(whole, machine, no_limit, families);
    const double optimum = fastest_plan(problem, result.report.seconds);
    EXPECT_LE(optimum, result.report.seconds * (1 + 1e-9));
    EXPECT_LE(lower_bound(problem).seconds, optimum * (1 + 1e-9));
    gaps.push_back(result.report.seconds / optimum - 1.0);
  }
  return gaps;
}

void expect_near_optimum(const std::vector<double>& gaps) {
  EXPECT_LE(*std::ranges::max_element(gaps), 0.02);
  EXPECT_GE(std::ranges::count_if(gaps, [](double gap) { return gap < 1e-6; }), std::ssize(gaps) * 3 / 4)
      << testing::PrintToString(gaps);
}

TEST(Search, is_near_the_optimum_of_few_tables_in_all_options) {
  expect_near_optimum(gaps(8, 3, 3, all_families));
  expect_near_optimum(gaps(6, 4, 2, all_families));
}

TEST(Search, is_near_the_optimum_of_twelve_tables_in_some_options) {
  EXPECT_LE(std::ranges::max(gaps(6, 12, 4, {"data_parallel", "table_wise"})), 0.03);
  expect_near_optimum(gaps(6, 6, 4, {"data_parallel", "table_wise", "row_wise"}));
}

TEST(Search, reports_what_is_predicted_of_the_plan_and_a_bound_below_it) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    const SearchWorkload workload = SearchWorkload::random(random, 6, seed % 2 == 0 ? 1.05 : 0.0);
    StepContext step = workload.step(8, seed % 3 == 0 ? 8 : 4);
    step.exchange = seed % 3 == 0 ? "node_shared" : "linear";
    step.movement.transfer =
        std::array{RowTransfer::automatic, RowTransfer::unique_rows, RowTransfer::node_partials}[seed / 3 % 3];
    const SearchResult result =
        search(step, described_cluster(),
               {.memory = {}, .seconds = 100.0, .families = {"row_wise", "table_row_wise", "grid"}}, {});
    const double seconds = predict_step(step, described_cluster(), workload.plan(8, result.placements)).seconds;
    EXPECT_NEAR(result.report.seconds, seconds, 1e-12 * seconds) << "seed " << seed;
    EXPECT_LE(result.report.bound, seconds) << "seed " << seed;
  }
}

/// The plan of equal tables on 16 ranks, 4 a node, whose messages between nodes take 1 ms each.
TEST(Search, of_transfer_auto_is_no_slower_than_of_any_other) {
  for (const double alpha : {0.0, 1.2}) {
    SCOPED_TRACE(alpha);
    SearchWorkload workload = SearchWorkload::alike(24);
    workload.expect({.alpha = alpha});
    MachineModel machine = described_cluster();
    for (auto& [name, exchange] : machine.exchanges)
      for (auto& point : exchange.between.points) point.seconds += 1e-3;
    StepContext step = workload.step(16, 4);
    step.global_batch = 512;
    const auto found = [&](RowTransfer transfer) {
      step.movement.transfer = transfer;
      return search(step, machine,
                    {.memory = {}, .seconds = 100.0, .families = {"table_wise", "row_wise", "table_row_wise"}}, {});
    };
    const SearchResult result = found(RowTransfer::automatic);
    const double seconds = predict_step(step, machine, workload.plan(16, result.placements)).seconds;
    EXPECT_NEAR(result.report.seconds, seconds, 1e-9 * seconds);
    EXPECT_LE(result.report.bound, seconds);
    EXPECT_GT(result.report.bound, 0.5 * seconds);
    for (const RowTransfer other : {RowTransfer::dense_partials, RowTransfer::node_partials, RowTransfer::unique_rows})
      EXPECT_LE(seconds, found(other).report.seconds * (1 + 1e-9)) << name_of(other);
  }
}

/// TorchRec cuts rows into blocks of equal size, of which few rows fill fewer than there are ranks of a node.
TEST(Search, seats_fewer_blocks_than_a_node_has_ranks) {
  SearchWorkload workload = SearchWorkload::alike(3);
  for (Table& table : workload.tables) table.rows = 3;
  workload.expect({});
  constexpr std::array<std::string_view, 1> families{"table_row_wise_in_order"};
  for (const RowTransfer transfer : {RowTransfer::dense_partials, RowTransfer::node_partials}) {
    StepContext requested = workload.step(8, 4);
    requested.movement = {.transfer = transfer, .dedup = Dedup::local};
    const std::vector everywhere(3, TablePlacement{.data_parallel = true, .shards = {}});
    const MachineModel machine = described_cluster();
    const StepContext step = settled(requested, machine, workload.plan(8, everywhere));
    const SearchProblem problem(step, machine, no_limit, families);
    const std::vector<Placed> placed = longest_first(problem, std::vector<int>(1, 0), SeatOrder::seconds);
    for (const Placed& each : placed) EXPECT_EQ(each.ranks.size(), 3U);
    EXPECT_GT(SearchState(problem, placed).score().seconds, 0.0);
  }
}

TEST(Search, is_no_slower_than_any_other_planner) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    const int ranks = 1 + static_cast<int>(seed % 9);
    const SearchWorkload workload = SearchWorkload::random(random, 10, seed % 2 == 0 ? 1.05 : 0.0);
    const PlanRequest request{.ranks = ranks,
                              .ranks_per_node = seed % 3 == 0 ? 2 : 0,
                              .global_batch = 32768,
                              .ids = {.alpha = seed % 2 == 0 ? 1.05 : 0.0}};
    StepContext step = workload.step(ranks, request.ranks_per_node);
    const auto seconds = [&](std::string_view planner) {
      return predict_step(step, described_cluster(), make_plan(planner, workload.tables, workload.features, request))
          .seconds;
    };
    const double of_search = seconds("search:seconds=100");
    for (const Planner& planner : planners)
      EXPECT_LE(of_search, seconds(planner.name) * (1 + 1e-9)) << planner.name << ", seed " << seed;
  }
}

TEST(Search, of_the_same_seed_finds_the_same_plan) {
  std::mt19937_64 random(3);
  const SearchWorkload workload = SearchWorkload::random(random, 20, 1.05);
  const PlanRequest request{.ranks = 8, .ids = {.alpha = 1.05}};
  const auto plan = [&](const char* name) {
    return make_plan(name, workload.tables, workload.features, request).tables;
  };
  EXPECT_EQ(plan("search:seed=5"), plan("search:seed=5"));
  EXPECT_EQ(plan("search:seconds=60"), plan("search:seconds=50"));
}

TEST(Search, places_any_number_of_tables_on_any_number_of_ranks) {
  std::mt19937_64 random(4);
  for (const int ranks : {1, 2, 3, 17})
    for (const int tables : {0, 1, 2, 5}) {
      const SearchWorkload workload = SearchWorkload::random(random, tables, 1.05);
      const Plan plan = make_plan("search", workload.tables, workload.features, {.ranks = ranks});
      EXPECT_EQ(check(plan, workload.tables), std::vector<std::string>()) << tables << " tables, " << ranks << " ranks";
    }
}

TEST(Search, deals_equal_tables_evenly) {
  const SearchWorkload workload = SearchWorkload::alike(12);
  std::vector<int> tables(4);
  for (const TablePlacement& placement : found(workload, 4, {"table_wise"}).placements)
    ++tables[static_cast<std::size_t>(placement.shards.at(0).rank)];
  EXPECT_EQ(tables, std::vector(4, 3));
}

TEST(Search, keeps_every_rank_within_its_memory) {
  const SearchWorkload workload = SearchWorkload::alike(8);
  const auto most = [&](const SearchResult& result) {
    const auto memory = predict_step(workload.step(4), described_cluster(), workload.plan(4, result.placements)).memory;
    return *std::ranges::max_element(memory);
  };
  const double roomy = most(found(workload, 4, {"data_parallel"}));
  const double tight = most(found(workload, 4, {"table_wise"})) * 1.001;
  ASSERT_LT(tight, roomy);
  EXPECT_LE(most(found(workload, 4, all_families, tight)), tight);
  try {
    found(workload, 4, all_families, tight / 4);
    FAIL() << "found a plan";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("rank "), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("largest table is T"), std::string::npos) << error.what();
  }
}

TEST(Search, bound_holds_under_a_memory_limit) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    std::mt19937_64 random(seed);
    const SearchWorkload workload = SearchWorkload::random(random, 5, 1.05);
    StepContext requested = workload.step(3);
    requested.movement.dedup = Dedup::local;
    const StepContext step = settled(requested, described_cluster(), workload.plan(3, found(workload, 3).placements));
    const std::vector<std::string_view> families{"data_parallel", "table_wise", "row_wise"};
    const SearchProblem roomy(step, described_cluster(), no_limit, families);
    double bytes = 0.0;
    for (std::int64_t t = 0; t < 5; ++t)
      for (const RankSums& seat : roomy.work(t, 1).seats) bytes += seat[RankSums::memory];
    const SearchProblem problem(step, described_cluster(), 0.6 * bytes, families);
    const double optimum = fastest_plan(problem, 1e9);
    EXPECT_LE(lower_bound(problem).seconds, optimum * (1 + 1e-9)) << "seed " << seed;
    EXPECT_GE(optimum, fastest_plan(roomy, 1e9) * (1 - 1e-9)) << "seed " << seed;
  }
}

TEST(Search, bound_knows_all_exchanges_of_whole_tables) {
  MachineModel machine = described_cluster();
  const MessageCost second{{{0, 1.0}, {1e9, 1.0}}};  // whatever it carries
  machine.exchanges["mpi_alltoallv"] = {second, second};
  std::mt19937_64 random(3);
  const SearchReport report = found(SearchWorkload::random(random, 4, 1.05), 3, {"table_wise"}, {}, machine).report;
  EXPECT_GT(report.seconds, 4 * 2 * 1.0);  // lengths, ids, embeddings and gradients, from each rank to two others
  EXPECT_NEAR(report.bound, report.seconds, 1e-3 * report.seconds);
}

/// Plans of other planners, which it may begin with, split tables of storage tt, which no step can do.
TEST(Search, finds_plans_that_a_step_can_do) {
  SearchWorkload workload = SearchWorkload::alike(3);
  workload.tables[1].storage = Storage::tt;
  for (const int ranks : {1, 2, 4}) {
    const Plan plan = make_plan("search", workload.tables, workload.features, {.ranks = ranks});
    EXPECT_NO_THROW(require_supported(plan, workload.tables, workload.features, {}));
  }
}

TEST(Search, places_tables_in_the_options_that_are_asked_for_alone) {
  std::mt19937_64 random(6);
  const SearchWorkload workload = SearchWorkload::random(random, 12, 1.05);
  const Plan plan =
      make_plan("search:options=data_parallel+row_wise_block", workload.tables, workload.features, {.ranks = 4});
  for (const TablePlacement& placement : plan.tables)
    for (const Shard& shard : placement.shards) {
      EXPECT_EQ(shard.rows.stride, 1);
      EXPECT_EQ(placement.hot_rows, 0);
    }
}

/// What a search for a format finds is written in it, and read back as it was.
TEST(Search, keeps_to_what_a_format_can_express) {
  const std::array settings{"format=torchrec-plan", "format=hugectr-matrix", "format=hugectr-v3.8",
                            "format=torchrec-plan:options=row_wise_in_order",
                            "format=torchrec-plan:options=table_row_wise_in_order"};
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    SearchWorkload workload = SearchWorkload::random(random, 6, 1.05);
    for (std::int64_t t = 0; t < std::ssize(workload.tables); ++t)  // HugeCTR has no tables that nobody reads
      if (std::ranges::count(workload.features, t, &Feature::table) == 0)
        workload.features.push_back({fmt::format("more {}", t), t, Pooling::sum, 3});
    workload.expect({.alpha = seed % 2 == 0 ? 1.05 : 0.0});
    const int ranks = std::array{2, 4, 6, 8}[random() % 4], per_node = random() % 2 == 0 ? 2 : ranks;
    for (const std::string_view setting : settings) {
      if (setting.ends_with("table_row_wise_in_order") && per_node == ranks) continue;
      SCOPED_TRACE(fmt::format("seed {}, {} on {} ranks, {} a node", seed, setting, ranks, per_node));
      const std::string_view name = setting.substr(7, setting.find(':') - 7);
      const PlanFormat& format = choice_named(plan_formats, "format", name);
      const Plan plan = make_plan(fmt::format("search:{}", setting), workload.tables, workload.features,
                                  {.ranks = ranks, .ranks_per_node = per_node, .global_batch = 8192});
      const Plan read = plan_in_text(format.text(plan, workload.tables, workload.features), "p.json", workload.tables,
                                     workload.features);
      EXPECT_EQ(plan_digest(read, workload.tables), plan_digest(plan, workload.tables));
      if (!setting.ends_with("in_order")) continue;
      for (std::size_t t = 0; t < plan.tables.size(); ++t) {
        const int parts = setting.ends_with("=row_wise_in_order") ? ranks : per_node;
        const std::vector<Shard>& shards = plan.tables[t].shards;
        EXPECT_EQ(shards.front().rank % parts, 0);
        for (std::size_t k = 0; k < shards.size(); ++k) {
          EXPECT_EQ(shards[k].rank, shards.front().rank + static_cast<int>(k));
          EXPECT_EQ(shards[k].rows, row_block(workload.tables[t].rows, parts, static_cast<std::int64_t>(k)));
        }
      }
    }
  }
}

TEST(Search, says_what_it_found) {
  const SearchWorkload workload = SearchWorkload::alike(3);
  std::vector<std::string> remarks;
  make_plan("search", workload.tables, workload.features, {.ranks = 2, .remarks = &remarks});
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_NE(remarks[0].find("gap"), std::string::npos) << remarks[0];
}

TEST(Search, settings_that_make_no_sense_are_refused) {
  const SearchWorkload workload = SearchWorkload::alike(1);
  for (const char* name : {"search:options=tables_wise", "search:anneal=perhaps", "search:seconds=-1",
                           "search:reserve=101", "search:options="})
    EXPECT_THROW(make_plan(name, workload.tables, workload.features, {.ranks = 2, .memory = std::int64_t{1} << 40}),
                 InputError)
        << name;
}

}  // namespace
}  // namespace shardmark::placement
