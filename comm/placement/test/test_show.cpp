// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "comm/placement/planner.hpp"
#include "comm/placement/show.hpp"

namespace shardmark::placement {
namespace {

const std::vector<Table> tables{
    {"small", 10, 4, {}}, {"wide", 1000, 100, {.kind = OptimizerKind::rowwise_adagrad}}, {"long", 50000, 2, {}}};
const std::vector<Feature> features{{"s", 0, Pooling::sum, 3}, {"w", 1, Pooling::sum, 2}, {"l", 2, Pooling::sum, 6}};
const Plan plan{"hand",
                3,
                {{true, {}},
                 {false, {{{0, 1000, 1}, 0, 60, 0}, {{0, 1000, 1}, 60, 100, 2}}},
                 {false, {{{0, 50000, 2}, 0, 2, 0}, {{1, 50000, 2}, 0, 2, 1}}}}};

/// 1 us for an id whose row is added, 2 us for a row that is updated; messages take no time.
MachineModel machine() {
  MachineModel machine;
  machine.name = "hand";
  at(machine.seconds, Term::lookup_id) = 1e-6;
  at(machine.seconds, Term::update_row) = 2e-6;
  machine.exchanges["mpi_alltoallv"] = {{{{0, 0}}}, {{{0, 0}}}};
  machine.all_reduce_inside = machine.all_reduce_between = {{{0, 0}}};
  return machine;
}

struct Shown {
  std::vector<Table> tables;
  std::vector<Feature> features;
  Plan plan;
  MachineModel on = machine();
  LookupStatistics statistics{tables, features, {}};

  PlanFacts facts(std::int64_t batch = 3000) const {
    return facts_of(
        {.statistics = statistics, .ranks = plan.ranks, .ranks_per_node = plan.ranks, .global_batch = batch}, on, plan);
  }
  std::string text() const { return show(facts(), plan, tables); }
};

TEST(Show, ids_per_sample_follow_the_placement) {
  const Shown shown{tables, features, plan};
  const auto facts = shown.facts();
  const std::vector<double> expected{1 + 2 + 3, 1 + 3, 1 + 2};
  for (std::size_t r = 0; r < 3; ++r) EXPECT_NEAR(facts.ranks[r].ids_per_sample, expected[r], 1e-9) << r;
}

TEST(Show, ids_follow_their_law_and_hot_rows_are_everywhere) {
  const std::vector<Table> one{{"t", 100, 4, {}}};
  const std::vector<Feature> reader{{"f", 0, Pooling::sum, 5}};
  const Plan split{"split", 2, {{false, {{{10, 50, 1}, 0, 4, 0}, {{50, 100, 1}, 0, 4, 1}}, 10}}};
  const LookupStatistics statistics(one, reader, {.alpha = 1.2});
  const auto ids =
      ids_per_sample({.statistics = statistics, .ranks = 2, .ranks_per_node = 2, .global_batch = 8}, split);
  const double hot = 5 * statistics.mass(0, {0, 10, 1});
  EXPECT_NEAR(ids[0], hot / 2 + 5 * statistics.mass(0, {10, 50, 1}), 1e-9);
  EXPECT_NEAR(ids[0] + ids[1], 5, 1e-9);
  EXPECT_GT(ids[0], ids[1] + 0.5);
}

TEST(Show, what_leaves_some_ranks_comes_to_others) {
  for (const Planner& planner : planners) {
    Shown shown{tables, features, make_plan(planner.name, tables, features, {.ranks = 3})};
    const PlanFacts facts = shown.facts();
    const double sent = std::accumulate(facts.step.sent.begin(), facts.step.sent.end(), 0.0);
    EXPECT_NEAR(sent, std::accumulate(facts.step.received.begin(), facts.step.received.end(), 0.0), 1e-6 * (1 + sent))
        << planner.name;
    for (std::size_t r = 0; r < facts.ranks.size(); ++r)
      EXPECT_NEAR(facts.step.rank_seconds[r],
                  std::accumulate(facts.ranks[r].seconds.begin(), facts.ranks[r].seconds.end(), 0.0), 1e-12);
  }
}

TEST(Show, an_owner_gets_ids_and_gradients_and_sends_vectors) {
  // 4 samples of 1 id on each of 2 ranks: 4 ids of 4 bytes and lengths to rank 0, 4 vectors of 2 values back.
  const Shown shown{{{"t", 100, 2, {}}}, {{"f", 0, Pooling::sum, 1}}, {"hand", 2, {{false, {{{0, 100, 1}, 0, 2, 0}}}}}};
  const auto facts = shown.facts(8);
  EXPECT_EQ(facts.ranks[0].sent, 4 * 8);
  EXPECT_EQ(facts.ranks[0].received, facts.ranks[1].sent);
  EXPECT_EQ(facts.ranks[1].received, 4 * 8);
  EXPECT_EQ(facts.ranks[1].sent, 4 * (4 + 4) + 4 * 8);
  EXPECT_EQ(facts.idle, std::vector<int>{1});
}

TEST(Show, prints_ranks_phases_tables_and_what_decides_the_most) {
  const std::string text = Shown{tables, features, plan}.text();
  EXPECT_EQ(text, R"(plan 'hand' for 3 ranks, 3 tables

     rank tables         rows  tables MB  memory MB ids/sample  sent MB  recv MB   input  lookup  output    grad  update
        0      3        26010      0.444      6.930      6.000     0.70     0.73   0.000  18.000   0.000   0.000  17.131
        1      2        25010      0.200      3.349      4.000     0.46     0.46   0.000  12.000   0.000   0.000  15.136
        2      2         1010      0.164      4.874      3.000     0.63     0.61   0.000   9.000   0.000   0.000   2.015
imbalance   1.29         1.50       1.65       1.37       1.38     1.17     1.22    1.00    1.38    1.00    1.00    1.50

phase               ms  exchange ms slowest rank     its ms  imbalance
lookup          18.000        0.000            0     18.000       1.38
update          17.131        0.000            0     17.131       1.50
step            35.131

table         rows   dim           MB  placement            shards  ranks
small           10     4        0.000  data_parallel             3  all
wide          1000   100        0.404  column_wise               2  0,2
long         50000     2        0.400  row_wise                  2  0-1

slowest rank 0: 35.131 ms
        24.116 ms   68.6 %  long
         7.995 ms   22.8 %  wide
         3.020 ms    8.6 %  small
fullest rank 0: 6.930 MB
         4.792 MB   69.1 %  wide
         1.787 MB   25.8 %  long
         0.351 MB    5.1 %  small
)");
}

TEST(Show, of_many_ranks_and_tables_it_prints_the_extremes) {
  std::vector<Table> many;
  std::vector<Feature> readers;
  for (std::int64_t t = 0; t < 200; ++t) {
    many.push_back({fmt::format("t{}", t), t == 77 ? 9999 : 100, 4, {}});
    readers.push_back({fmt::format("f{}", t), t, Pooling::sum, 1});
  }
  for (const Planner& planner : planners) {
    if (planner.name == "search") continue;  // takes its time
    const Shown shown{many, readers, make_plan(planner.name, many, readers, {.ranks = 300})};
    const std::string text = shown.text();
    EXPECT_LT(std::ranges::count(text, '\n'), 60) << planner.name;
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
      end = text.find('\n', begin);
      EXPECT_LE(end - begin, 120U) << planner.name << ": " << text.substr(begin, end - begin);
    }
  }
  const std::string text = Shown{many, readers, make_plan("table_wise", many, readers, {.ranks = 300})}.text();
  EXPECT_NE(text.find("\n100 of the ranks hold nothing: 200-299\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n   median      1          100"), std::string::npos) << text;
  EXPECT_NE(text.find("\n       77      1         9999"), std::string::npos) << text;
  EXPECT_NE(text.find("\nt0 and 76 more            100     4"), std::string::npos) << text;
}

TEST(Show, json_says_the_same_of_every_rank_and_table) {
  const Shown shown{tables, features, plan};
  const PlanFacts facts = shown.facts();
  const auto json = to_json(facts, plan, tables);
  ASSERT_EQ(json.at("per_rank").size(), 3U);
  EXPECT_EQ(json.at("per_rank")[2].at("held_bytes"), facts.ranks[2].load.bytes());
  EXPECT_EQ(json.at("per_rank")[1].at("sent_bytes"), facts.ranks[1].sent);
  EXPECT_NEAR(json.at("per_rank")[0].at("lookup_ms").get<double>(), 3000 * (1 + 2 + 3) * 1e-3, 1e-9);
  EXPECT_EQ(json.at("slowest_rank").at("rank"), 0);
  EXPECT_EQ(
      json.at("tables")[1].dump(),
      R"({"name":"wide","rows":1000,"dim":100,"storage":"dense","bytes":404000,"placement":"column_wise","shards":2,)"
      R"("hot_rows":0,"ranks":"0,2"})");
  EXPECT_EQ(json.at("step_ms"), 1e3 * facts.step.seconds);
}

}  // namespace
}  // namespace shardmark::placement
