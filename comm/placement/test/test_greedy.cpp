// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "comm/placement/planner.hpp"
#include "comm/placement/test/random_tables.hpp"

namespace shardmark::placement {
namespace {

std::vector<int> ranks_of(std::string_view planner, const std::vector<Table>& tables,
                          const std::vector<Feature>& features, int ranks, std::uint64_t seed = 1) {
  std::vector<int> holders;
  for (const auto& placement : make_plan(planner, tables, features, {.ranks = ranks, .seed = seed}).tables)
    holders.push_back(placement.shards.at(0).rank);
  return holders;
}

/// Rows x columns, and hotness of the features. T3 is shared by three.
const std::vector<Table> four_tables{{"T0", 1000, 4, {}}, {"T1", 10, 16, {}}, {"T2", 100, 8, {}}, {"T3", 100, 4, {}}};
const std::vector<Feature> six_features{{"a", 0, Pooling::sum, 3}, {"b", 1, Pooling::sum, 1},
                                        {"c", 2, Pooling::sum, 4}, {"d", 3, Pooling::sum, 2},
                                        {"e", 3, Pooling::sum, 2}, {"f", 3, Pooling::sum, 1}};

TEST(Greedy, PlacesTheCostliestTableOnTheLeastLoadedRank) {
  // size: 4000, 160, 800, 400: T0 | T2, T3, T1
  EXPECT_EQ(ranks_of("size_greedy", four_tables, six_features, 2), (std::vector{0, 1, 1, 1}));
  // dim x features: 4, 16, 8, 12: T1, T0 (16 + 4) | T3, T2 (20)
  EXPECT_EQ(ranks_of("dim_greedy", four_tables, six_features, 2), (std::vector{0, 0, 1, 1}));
  // dim x ids: 12, 16, 32, 20: T2 (32), T0 | T3, T1 (36)
  EXPECT_EQ(ranks_of("lookup_greedy", four_tables, six_features, 2), (std::vector{0, 1, 0, 1}));
  // x log10(rows): 36, 16, 64, 40: T2, T1 | T3, T0
  EXPECT_EQ(ranks_of("size_lookup_greedy", four_tables, six_features, 2), (std::vector{1, 0, 0, 1}));
}

TEST(Greedy, AmongEqualsTheLowerTableAndTheLowerRankAreFirst) {
  const std::vector<Table> equal(5, Table{"T", 8, 4, {}});
  EXPECT_EQ(ranks_of("size_greedy", equal, {}, 3), (std::vector{0, 1, 2, 0, 1}));
}

TEST(Greedy, TensorTrainsCountWhatTheyKeep) {
  std::vector<Table> tts(3, Table{"T", 100000, 16, {}});
  tts[0].storage = Storage::tt;  // a few thousand values instead of 1.6 million
  EXPECT_EQ(ranks_of("size_greedy", tts, {}, 2), (std::vector{0, 0, 1}));
}

/// No rank has more than the others by more than the cost of its last table (Graham 1969).
TEST(Greedy, NoRankIsAheadByMoreThanATable) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const RandomTables workload(random);
    const int ranks = static_cast<int>(seed % 6) + 1;
    std::vector<double> costs(workload.tables.size());
    for (const Feature& feature : workload.features)
      costs[feature.table] += static_cast<double>(workload.tables[feature.table].dim * feature.hotness);
    std::vector<double> loads(static_cast<std::size_t>(ranks)), least(loads.size(), INFINITY);
    const auto holders = ranks_of("lookup_greedy", workload.tables, workload.features, ranks);
    for (std::size_t t = 0; t < holders.size(); ++t) {
      loads[holders[t]] += costs[t];
      least[holders[t]] = std::min(least[holders[t]], costs[t]);
    }
    for (std::size_t r = 0; r < loads.size(); ++r) {
      if (loads[r] == 0) continue;
      EXPECT_LE(loads[r] - least[r], *std::ranges::min_element(loads)) << "rank " << r;
    }
  }
}

TEST(Random, IsTheSameForASeedAndElseNot) {
  const std::vector<Table> many(100, Table{"T", 8, 4, {}});
  EXPECT_EQ(ranks_of("random", many, {}, 5, 3), ranks_of("random", many, {}, 5, 3));
  EXPECT_EQ(ranks_of("random", many, {}, 5, 3), ranks_of("random:seed=3", many, {}, 5, 1));
  EXPECT_NE(ranks_of("random", many, {}, 5, 3), ranks_of("random", many, {}, 5, 4));
}

TEST(Random, UsesEveryRankAlike) {
  const std::vector<Table> many(10000, Table{"T", 8, 4, {}});
  std::vector<int> counts(5);
  for (const int rank : ranks_of("random:seed=7", many, {}, 5)) ++counts[rank];
  for (const int count : counts) EXPECT_NEAR(count, 2000, 6 * 40);  // six standard deviations
}

}  // namespace
}  // namespace shardmark::placement
