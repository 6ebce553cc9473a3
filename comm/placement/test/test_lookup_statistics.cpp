// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "comm/placement/statistics/expected_counts.hpp"
#include "comm/placement/statistics/lookup_statistics.hpp"
#include "comm/placement/test/random_plan.hpp"
#include "comm/placement/test/row_probabilities.hpp"

namespace shardmark::placement {
namespace {

struct Direct {
  double mass = 0.0, distinct = 0.0;
};

/// Added row by row.
Direct direct(const std::vector<double>& p, const RowSet& rows, double ids_per_sample, double samples) {
  Direct sum;
  for (std::int64_t row = rows.begin; row < rows.end; row += rows.stride) {
    sum.mass += p[row];
    sum.distinct -= std::expm1(samples * ids_per_sample * std::log1p(-p[row]));
  }
  return sum;
}

void expect_sum(double value, double expected, const char* of) {
  EXPECT_NEAR(value, expected, 1e-6 * expected + 1e-12) << of;
}

/// Blocks, shards of splits modulo anything, and those that begin behind replicated rows.
RowSet random_rows(std::int64_t rows, std::mt19937_64& random) {
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };
  const std::int64_t hot = below(3) == 0 ? below(rows / 2 + 1) : 0;
  const std::int64_t stride = below(2) == 0 ? 1 : 1 + below(std::min<std::int64_t>(rows - hot, 2000));
  if (stride > 1) return {hot + below(stride), rows, stride};
  const std::int64_t begin = hot + below(rows - hot);
  return {begin, begin + 1 + below(rows - begin), 1};
}

TEST(LookupStatistics, AreTheSumsOverTheRowsOfAnySet) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const double alpha : {0.0, 0.4, 1.0, 1.05, 1.4, 3.0})
    for (const std::int64_t rows : {1, 90, 1000, 40'000}) {
      const std::vector<Table> tables{{.name = "t", .rows = rows, .dim = 4}};
      const std::vector<Feature> features{{.name = "f", .table = 0, .hotness = 10}};
      const LookupStatistics statistics(tables, features, {.alpha = alpha});
      const auto p = row_probabilities(rows, alpha);
      for (int time = 0; time < 40; ++time) {
        const RowSet set = random_rows(rows, random);
        const std::int64_t samples = std::int64_t{1} << random() % 18;
        SCOPED_TRACE(testing::Message() << "alpha " << alpha << ", rows " << set.begin << " to " << set.end << " by "
                                        << set.stride << " of " << rows << ", samples " << samples);
        const ShardCounts& counts = statistics.expected(0, set, samples);
        const Direct sum = direct(p, set, 10, static_cast<double>(samples));
        expect_sum(counts.ids, 10.0 * static_cast<double>(samples) * sum.mass, "ids");
        expect_sum(statistics.mass(0, set), sum.mass, "mass");
        expect_sum(counts.distinct_rows, sum.distinct, "distinct");
      }
    }
}

TEST(LookupStatistics, AnswerForEachShardOfAPlan) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<Table> tables{{.name = "a", .rows = 500, .dim = 4}, {.name = "b", .rows = 30, .dim = 4}};
  const std::vector<Feature> features{
      {.name = "f", .table = 0, .pooling = Pooling::max, .hotness = 3},
      {.name = "g", .table = 1, .pooling = Pooling::none, .hotness = 2},
      {.name = "h", .table = 1, .pooling = Pooling::mean, .hotness = 4},
  };
  for (const bool ragged : {false, true})
    for (const bool scattered : {false, true})
      for (int time = 0; time < 10; ++time) {
        const IdStatistics ids{.alpha = 1.05, .scattered = scattered, .ragged = ragged};
        const Plan plan = random_plan(tables, 5, random);
        const PlanCounts counts = expected_counts(plan, tables, features, 700, ids);
        const LookupStatistics statistics(tables, features, ids);
        for (std::int64_t t = 0; t < 2; ++t) {
          const auto shards = counted_shards(plan.tables[t], tables[t]);
          for (std::size_t s = 0; s < shards.size(); ++s)
            EXPECT_EQ(counts[t][s], statistics.expected(t, shards[s].rows, 700));
        }
      }
}

/// The same object, so that whoever asks for one table has asked for the other.
TEST(LookupStatistics, KnowTablesThatAreReadAlike) {
  const std::vector<Table> tables{{.name = "a", .rows = 500, .dim = 4},
                                  {.name = "b", .rows = 500, .dim = 128},
                                  {.name = "c", .rows = 501, .dim = 4},
                                  {.name = "d", .rows = 500, .dim = 4},
                                  {.name = "e", .rows = 500, .dim = 4}};
  const std::vector<Feature> features{
      {.name = "f", .table = 0, .pooling = Pooling::sum, .hotness = 3},
      {.name = "g", .table = 0, .pooling = Pooling::none, .hotness = 2},
      {.name = "h", .table = 1, .pooling = Pooling::none, .hotness = 2},
      {.name = "i", .table = 1, .pooling = Pooling::mean, .hotness = 3},
      {.name = "j", .table = 2, .pooling = Pooling::sum, .hotness = 3},
      {.name = "k", .table = 3, .pooling = Pooling::sum, .hotness = 3},
  };
  const LookupStatistics statistics(tables, features, {.alpha = 1.05});
  const auto of = [&](std::int64_t table) { return &statistics.expected(table, {1, 400, 3}, 100); };
  EXPECT_EQ(of(0), of(1));
  EXPECT_EQ(of(0), of(0));
  EXPECT_NE(of(0), of(2)) << "other rows";
  EXPECT_NE(of(0), of(3)) << "read less";
  EXPECT_NE(of(0), &statistics.expected(0, {1, 400, 3}, 101));
  EXPECT_EQ(*of(4), ShardCounts{}) << "read by nothing";
  EXPECT_EQ(statistics.mass(4, {0, 500, 1}), 0.0);
}

TEST(LookupStatistics, HotRowsAreTheFewestThatHoldAShare) {
  const std::vector<Table> tables{{.name = "t", .rows = 20'000, .dim = 4}, {.name = "unread", .rows = 7, .dim = 4}};
  const std::vector<Feature> features{{.name = "f", .table = 0, .hotness = 2}};
  const LookupStatistics statistics(tables, features, {.alpha = 1.05});
  const auto p = row_probabilities(20'000, 1.05);
  for (const double share : {0.01, 0.3, 0.5, 0.9, 0.999}) {
    const std::int64_t hot = statistics.hot_rows(0, share);
    double mass = 0.0;
    for (std::int64_t row = 0; row + 1 < hot; ++row) mass += p[row];
    EXPECT_LT(mass, share);
    EXPECT_GE(mass + p[hot - 1], share);
  }
  EXPECT_EQ(statistics.hot_rows(0, 0.0), 0);
  EXPECT_EQ(statistics.hot_rows(0, 1.0), 20'000);
  EXPECT_EQ(statistics.hot_rows(1, 0.5), 7);
  EXPECT_EQ(LookupStatistics(tables, features, {.alpha = 1.05, .scattered = true}).hot_rows(0, 0.25), 5'000);
}

/// What the shards of a split share is told apart by samples and by end.
TEST(LookupStatistics, ShardsOfASplitAddUpToTheTable) {
  const std::vector<Table> tables{{.name = "t", .rows = (std::int64_t{1} << 31) + 77, .dim = 4}};
  const std::vector<Feature> features{{.name = "f", .table = 0, .hotness = 5}};
  const std::int64_t rows = tables[0].rows;
  const LookupStatistics statistics(tables, features, {.alpha = 1.05});
  for (const std::int64_t samples : {64, 65536}) {
    const ShardCounts& whole = statistics.expected(0, {0, rows, 1}, samples);
    for (const bool modulo : {true, false}) {
      ShardCounts sum;
      for (std::int64_t k = 0; k < 1024; ++k) {
        const RowSet set = modulo ? RowSet{k, rows, 1024} : RowSet{k * rows / 1024, (k + 1) * rows / 1024, 1};
        sum.ids += statistics.expected(0, set, samples).ids;
        sum.distinct_rows += statistics.expected(0, set, samples).distinct_rows;
      }
      expect_sum(sum.ids, whole.ids, "ids");
      expect_sum(sum.distinct_rows, whole.distinct_rows, "distinct");
    }
    EXPECT_DOUBLE_EQ(whole.ids, 5.0 * static_cast<double>(samples));
  }
}

}  // namespace
}  // namespace shardmark::placement
