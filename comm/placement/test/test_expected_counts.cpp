// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "comm/placement/planner.hpp"
#include "comm/placement/statistics/expected_counts.hpp"
#include "comm/placement/test/counted_batch.hpp"
#include "comm/placement/test/row_probabilities.hpp"

namespace shardmark::placement {
namespace {

/// One table, read by two features that draw and pool differently.
struct OneTable {
  std::vector<Table> tables;
  std::vector<Feature> features{{.name = "f", .table = 0, .pooling = Pooling::sum, .hotness = 5},
                                {.name = "g", .table = 0, .pooling = Pooling::none, .hotness = 2}};

  explicit OneTable(std::int64_t rows) : tables{{.name = "t", .rows = rows, .dim = 4}} {}
  Plan plan(std::string_view planner, int ranks) const {
    return make_plan(planner, tables, features, {.ranks = ranks});
  }
};

/// A sum over all rows, a power for each length that a bag may have.
double missed(double p, std::int64_t hotness, bool ragged) {
  if (!ragged) return std::pow(1 - p, static_cast<double>(hotness));
  double sum = 0.0;
  for (std::int64_t length = 0; length <= 2 * hotness; ++length) sum += std::pow(1 - p, static_cast<double>(length));
  return sum / static_cast<double>(2 * hotness + 1);
}

TEST(ExpectedCounts, AreTheSumsOverAllRows) {
  constexpr std::int64_t samples = 3000;
  for (const std::int64_t rows : {1, 7, 300, 20000})
    for (const double alpha : {0.0, 0.6, 1.0, 1.05, 2.0})
      for (const bool ragged : {false, true}) {
        const OneTable one(rows);
        const std::vector<double> p = row_probabilities(rows, alpha);
        for (const std::string_view planner : {"row_wise", "row_wise_block", "data_parallel"}) {
          SCOPED_TRACE(std::string(planner) + ", " + std::to_string(rows) + " rows, alpha " + std::to_string(alpha));
          const Plan plan = one.plan(planner, 3);
          const PlanCounts counts =
              expected_counts(plan, one.tables, one.features, samples, {.alpha = alpha, .ragged = ragged});
          const auto shards = counted_shards(plan.tables[0], one.tables[0]);
          ASSERT_EQ(counts[0].size(), shards.size());
          for (std::size_t s = 0; s < shards.size(); ++s) {
            double held = 0.0, distinct = 0.0;
            for (std::int64_t i = 0; i < rows; ++i) {
              if (!shards[s].rows.contains(i)) continue;
              held += p[i];
              distinct += 1 - std::pow(missed(p[i], 5, ragged) * missed(p[i], 2, ragged), samples);
            }
            const auto near = [&](double count, double expected) {
              EXPECT_NEAR(count, expected, 1e-6 * expected + 1e-9) << "shard " << s;
            };
            near(counts[0][s].bags, 3 * samples);
            near(counts[0][s].ids, 7 * samples * held);
            near(counts[0][s].touched_bags,
                 samples * (1 - missed(std::min(held, 1.0), 5, ragged)) + 2 * samples * held);
            near(counts[0][s].distinct_rows, distinct);
          }
        }
      }
}

/// A sum over the number of segments that a sample may have, each of which misses the rows or not.
TEST(ExpectedCounts, OfNestedIdsAreTheSumsOverAllSegments) {
  constexpr std::int64_t samples = 3000, rows = 300, segments = 4, of_segment = 3;
  const std::vector<Table> tables{{.name = "t", .rows = rows, .dim = 4}};
  const std::vector<double> p = row_probabilities(rows, 1.05);
  for (const std::int64_t rank : {0, 1})
    for (const bool ragged : {false, true}) {
      SCOPED_TRACE(std::to_string(rank) + (ragged ? ", ragged" : ""));
      const std::vector<Feature> features{{.name = "f",
                                           .table = 0,
                                           .pooling = Pooling::mean,
                                           .hotness = segments * of_segment,
                                           .segments = segments,
                                           .segment_rank = rank}};
      const auto missed_by_sample = [&](double q) {
        const double by_segment = missed(q, of_segment, ragged);
        if (!ragged) return std::pow(by_segment, segments);
        double sum = 0.0;
        for (std::int64_t count = 0; count <= 2 * segments; ++count) sum += std::pow(by_segment, count);
        return sum / (2 * segments + 1);
      };
      const Plan plan = make_plan("row_wise_block", tables, features, {.ranks = 3});
      const PlanCounts counts = expected_counts(plan, tables, features, samples, {.alpha = 1.05, .ragged = ragged});
      const auto shards = counted_shards(plan.tables[0], tables[0]);
      for (std::size_t s = 0; s < shards.size(); ++s) {
        double held = 0.0, distinct = 0.0;
        for (std::int64_t i = shards[s].rows.begin; i < shards[s].rows.end; ++i) {
          held += p[i];
          distinct += 1 - std::pow(missed_by_sample(p[i]), samples);
        }
        const double touched = rank == 0 ? samples * (1 - missed_by_sample(held))
                                         : segments * samples * (1 - missed(held, of_segment, ragged));
        EXPECT_NEAR(counts[0][s].bags, (rank == 0 ? 1 : segments) * samples, 1e-6);
        EXPECT_NEAR(counts[0][s].ids, segments * of_segment * samples * held, 1e-2);
        EXPECT_NEAR(counts[0][s].touched_bags, touched, 1e-5 * touched);
        EXPECT_NEAR(counts[0][s].distinct_rows, distinct, 1e-5 * distinct);
      }
    }
}

/// The mean over drawn samples differs from the expectation by its spread.
TEST(ExpectedCounts, AreTheMeansOfExactOnes) {
  constexpr std::int64_t samples = 200, rows = 2000;
  constexpr int times = 200;
  const OneTable one(rows);
  const Plan plan = one.plan("row_wise_block", 3);
  for (const double alpha : {0.0, 1.05}) {
    const auto p = row_probabilities(rows, alpha);
    std::discrete_distribution<std::int64_t> draw(p.begin(), p.end());
    std::mt19937_64 random(7);
    std::vector<ShardCounts> sum(3);
    for (int time = 0; time < times; ++time) {
      Batch batch{.samples = samples, .features = 2, .offsets = {0}, .indices = {}, .weights = {}};
      for (const std::int64_t hotness : {5, 2})
        for (std::int64_t s = 0; s < samples; ++s) {
          for (std::int64_t i = 0; i < hotness; ++i) batch.indices.push_back(draw(random));
          batch.offsets.push_back(batch.nnz());
        }
      const PlanCounts counts = counts_of(plan, one.tables, one.features, batch);
      for (std::size_t s = 0; s < 3; ++s) {
        sum[s].bags += counts[0][s].bags / times;
        sum[s].ids += counts[0][s].ids / times;
        sum[s].touched_bags += counts[0][s].touched_bags / times;
        sum[s].distinct_rows += counts[0][s].distinct_rows / times;
      }
    }
    const PlanCounts expected = expected_counts(plan, one.tables, one.features, samples, {.alpha = alpha});
    for (std::size_t s = 0; s < 3; ++s) {
      SCOPED_TRACE("alpha " + std::to_string(alpha) + ", shard " + std::to_string(s));
      const auto near = [](double mean, double count) { EXPECT_NEAR(mean, count, 4 * std::sqrt(count / times)); };
      EXPECT_DOUBLE_EQ(sum[s].bags, expected[0][s].bags);
      near(sum[s].ids, expected[0][s].ids);
      near(sum[s].touched_bags, expected[0][s].touched_bags);
      near(sum[s].distinct_rows, expected[0][s].distinct_rows);
    }
  }
}

/// A billion rows take no longer than a few.
TEST(ExpectedCounts, OfShardsAddUpToTheTable) {
  const OneTable one(std::int64_t{1} << 33);
  for (const double alpha : {0.0, 0.9, 1.05}) {
    const auto counts_of = [&](std::string_view planner, bool scattered) {
      const PlanCounts counts = expected_counts(one.plan(planner, 64), one.tables, one.features, 1 << 20,
                                                {.alpha = alpha, .scattered = scattered});
      ShardCounts sum;
      for (const ShardCounts& shard : counts[0]) {
        sum.ids += shard.ids;
        sum.distinct_rows += shard.distinct_rows;
      }
      return sum;
    };
    const ShardCounts whole = counts_of("data_parallel", false);
    EXPECT_NEAR(whole.ids, 7.0 * (1 << 20), 10.0);
    for (const std::string_view planner : {"row_wise", "row_wise_block"})
      for (const bool scattered : {false, true}) {
        const ShardCounts sum = counts_of(planner, scattered);
        EXPECT_NEAR(sum.ids, whole.ids, 1e-6 * whole.ids) << planner;
        EXPECT_NEAR(sum.distinct_rows, whole.distinct_rows, 1e-6 * whole.distinct_rows) << planner;
      }
  }
}

}  // namespace
}  // namespace shardmark::placement
