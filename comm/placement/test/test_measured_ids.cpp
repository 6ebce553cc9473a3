// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "comm/placement/statistics/lookup_statistics.hpp"
#include "comm/placement/statistics/measured_ids.hpp"
#include "comm/placement/test/random_plan.hpp"
#include "comm/placement/test/row_probabilities.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

/// Samples that name one row each.
struct NamedRows {
  std::int64_t rows = 0;
  std::vector<std::int64_t> ids;

  std::vector<RowCount> counts() const {
    std::map<std::int64_t, std::int64_t> times;
    for (const std::int64_t id : ids) ++times[id];
    std::vector<RowCount> counts;
    for (const auto& [row, number] : times) counts.push_back({row, number});
    return counts;
  }
  MeasuredIds measured() const {
    const std::int64_t samples = std::ssize(ids);
    return {.samples = samples, .features = {{{1, samples}}}, .tables = {popularity_of(rows, counts())}};
  }
};

NamedRows drawn(std::int64_t rows, std::int64_t samples, double alpha, bool shuffled, std::mt19937_64& random) {
  const auto p = row_probabilities(rows, alpha);
  std::discrete_distribution<std::int64_t> draw(p.begin(), p.end());
  std::vector<std::int64_t> place(static_cast<std::size_t>(rows));
  std::iota(place.begin(), place.end(), 0);
  if (shuffled) std::ranges::shuffle(place, random);
  NamedRows named{.rows = rows, .ids = {}};
  for (std::int64_t s = 0; s < samples; ++s) named.ids.push_back(place[draw(random)]);
  return named;
}

struct OneMeasured {
  std::vector<Table> tables;
  std::vector<Feature> features{{.name = "f", .table = 0}};
  LookupStatistics statistics;

  OneMeasured(const MeasuredIds& ids, Pooling pooling = Pooling::sum)
      : tables{{.name = "t", .rows = ids.tables[0].rows, .dim = 4}},
        features{{.name = "f", .table = 0, .pooling = pooling}},
        statistics(tables, features, {.measured = std::make_shared<MeasuredIds>(ids)}) {}
};

/// Four samples {0, 2}, {2}, {}, {2, 5, 1}: row 2 is named three times.
MeasuredIds tiny() {
  return {.samples = 4,
          .features = {{{0, 1}, {1, 1}, {2, 1}, {3, 1}}},
          .tables = {popularity_of(6, {{0, 1}, {1, 1}, {2, 3}, {5, 1}})}};
}

TEST(MeasuredIds, OfAFewSamplesByHand) {
  const OneMeasured one(tiny());
  EXPECT_DOUBLE_EQ(one.statistics.mass(0, {0, 6, 1}), 1.0);
  EXPECT_DOUBLE_EQ(one.statistics.mass(0, {0, 6, 2}), 4.0 / 6);
  EXPECT_DOUBLE_EQ(one.statistics.mass(0, {3, 5, 1}), 0.0);
  EXPECT_EQ(one.statistics.hot_rows(0, 0.8), 3);
  const ShardCounts& one_sample = one.statistics.expected(0, {0, 6, 1}, 1);
  EXPECT_DOUBLE_EQ(one_sample.bags, 1.0);
  EXPECT_DOUBLE_EQ(one_sample.ids, 1.5);
  EXPECT_DOUBLE_EQ(one_sample.touched_bags, 0.75) << "one in four is empty";
  EXPECT_DOUBLE_EQ(one_sample.distinct_rows, 1.5);
  const ShardCounts& two = one.statistics.expected(0, {2, 6, 1}, 2);
  EXPECT_DOUBLE_EQ(two.ids, 2.0);
  EXPECT_DOUBLE_EQ(two.distinct_rows, 1.0 + 0.5) << "two of four always name row 2, and row 5 every other time";
  const double missed = 1.0 / 3;  // an id names none of rows 2 to 5
  EXPECT_NEAR(two.touched_bags, 2 * (3 - missed - missed * missed - missed * missed * missed) / 4, 1e-12);
  EXPECT_DOUBLE_EQ(one.statistics.expected(0, {0, 6, 1}, 4).distinct_rows, 4.0);
  EXPECT_DOUBLE_EQ(one.statistics.expected(0, {0, 6, 1}, 40).distinct_rows, 4.0) << "the samples again";
  EXPECT_DOUBLE_EQ(one.statistics.expected(0, {0, 6, 1}, 40).ids, 60.0);
  const OneMeasured unpooled(tiny(), Pooling::none);
  EXPECT_DOUBLE_EQ(unpooled.statistics.expected(0, {0, 6, 1}, 4).bags, 6.0);
  EXPECT_DOUBLE_EQ(unpooled.statistics.expected(0, {0, 6, 2}, 4).touched_bags, 4.0);
}

TEST(RowPopularity, KeepsPopularRowsAndClassesOfTheOthers) {
  std::vector<RowCount> counts;
  for (std::int64_t row = 0; row < RowPopularity::popular_rows; ++row) counts.push_back({2 * row, 1000});
  for (std::int64_t row = 0; row < 128; ++row) counts.push_back({2 * row + 1, 1 + row % 2});
  const RowPopularity popularity = popularity_of(20'000, counts);
  EXPECT_EQ(std::ssize(popularity.popular), RowPopularity::popular_rows);
  EXPECT_EQ(popularity.popular[7], (RowCount{14, 1000}));
  EXPECT_LE(std::ssize(popularity.ranges), RowPopularity::ranges_of_others);
  EXPECT_EQ(popularity.ranges.front().classes, (std::vector<RowPopularity::Class>{{2, 2}, {1, 2}}))
      << "rows 1, 3 and 5";
  EXPECT_EQ(popularity.ranges.back().end, 20'000);
  EXPECT_EQ(popularity.ids(), 1000 * RowPopularity::popular_rows + 64 + 128);
  EXPECT_EQ(popularity.named(), RowPopularity::popular_rows + 128);
  const auto all = static_cast<double>(popularity.ids());
  EXPECT_DOUBLE_EQ(popularity.mass_of_most_popular(10), 10'000 / all);
  EXPECT_DOUBLE_EQ(popularity.mass_of_most_popular(RowPopularity::popular_rows + 64), 1.0 - 64 / all);
  EXPECT_DOUBLE_EQ(popularity.mass_of_most_popular(20'000), 1.0);
  EXPECT_EQ(popularity_of(5, {}).mass_of_most_popular(5), 0.0);
}

/// Any n of the samples differ from the expectation by their spread; popular rows lie at the beginning or anywhere.
TEST(MeasuredIds, AreTheMeansOfSomeOfTheSamples) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr int times = 30, counted = 40'000;
  for (const bool shuffled : {false, true})
    for (const std::int64_t samples : {500, 20'000}) {
      NamedRows named = drawn(60'000, counted, 1.05, shuffled, random);
      const OneMeasured one(named.measured());
      const Plan plan = random_plan(one.tables, 7, random);
      const auto shards = counted_shards(plan.tables[0], one.tables[0]);
      std::vector<double> ids(shards.size()), distinct(shards.size());
      for (int time = 0; time < times; ++time) {
        std::ranges::shuffle(named.ids, random);
        const NamedRows some{named.rows, {named.ids.begin(), named.ids.begin() + samples}};
        for (const RowCount& count : some.counts())
          for (std::size_t s = 0; s < shards.size(); ++s)
            if (shards[s].rows.contains(count.row)) {
              ids[s] += static_cast<double>(count.ids) / times;
              distinct[s] += 1.0 / times;
            }
      }
      for (std::size_t s = 0; s < shards.size(); ++s) {
        SCOPED_TRACE(testing::Message() << samples << " samples, shard " << s << " of " << shards.size()
                                        << (shuffled ? ", shuffled" : ""));
        const ShardCounts& expected = one.statistics.expected(0, shards[s].rows, samples);
        // The samples spread, and so does the number of evenly laid rows in the shard: of K rows that all N samples
        // name, sqrt(K) more or fewer lie there, and n samples name n / N of them. 1 % is added.
        const double of_all = static_cast<double>(samples) / counted;
        const auto spread = [&](double x) { return 5 * std::sqrt((1 + x) * (1.0 / times + of_all)) + 0.01 * x; };
        EXPECT_NEAR(ids[s], expected.ids, spread(expected.ids));
        EXPECT_NEAR(distinct[s], expected.distinct_rows, spread(expected.distinct_rows));
      }
    }
}

TEST(MeasuredIds, OfShardsAddUpToTheTable) {
  std::mt19937_64 random(3);
  const NamedRows named = drawn(50'000, 60'000, 0.9, false, random);
  const OneMeasured one(named.measured());
  EXPECT_DOUBLE_EQ(one.statistics.expected(0, {0, 50'000, 1}, 60'000).distinct_rows,
                   static_cast<double>(named.counts().size()));
  for (const std::int64_t parts : {2, 17, 1024})
    for (const bool modulo : {false, true}) {
      ShardCounts sum;
      for (std::int64_t k = 0; k < parts; ++k) {
        const RowSet set = modulo ? RowSet{k, 50'000, parts} : RowSet{k * 50'000 / parts, (k + 1) * 50'000 / parts, 1};
        sum.ids += one.statistics.expected(0, set, 1000).ids;
        sum.distinct_rows += one.statistics.expected(0, set, 1000).distinct_rows;
      }
      EXPECT_NEAR(sum.ids, 1000.0, 1e-6);
      EXPECT_NEAR(sum.distinct_rows, one.statistics.expected(0, {0, 50'000, 1}, 1000).distinct_rows, 1e-6);
    }
}

TEST(MeasuredIds, ComeBackFromJson) {
  std::mt19937_64 random(5);
  MeasuredIds ids = drawn(30'000, 30'000, 1.05, true, random).measured();
  EXPECT_EQ(measured_ids_from_json(to_json(ids), "x"), ids);
  EXPECT_EQ(measured_ids_from_json(to_json(tiny()), "x"), tiny());
  EXPECT_LT(to_json(ids).dump().size(), 100'000U);
}

TEST(MeasuredIds, ThatContradictThemselvesAreRefused) {
  std::mt19937_64 random(5);
  const MeasuredIds sound = drawn(30'000, 30'000, 1.05, true, random).measured();
  const auto refused = [&](auto change) {
    nlohmann::ordered_json json = to_json(sound);
    change(json);
    try {
      measured_ids_from_json(json, "file.json");
      ADD_FAILURE() << "accepted";
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("file.json: ")) << error.what();
    }
  };
  refused([](auto& json) { json.erase("samples"); });
  refused([](auto& json) { json["samples"] = 29'999; });
  refused([](auto& json) { json["samples"] = "many"; });
  refused([](auto& json) { json["tables"][0]["popular_ids"].erase(0); });
  refused([](auto& json) { json["tables"][0]["popular_rows"][0] = 30'000; });
  refused([](auto& json) { json["tables"][0]["popular_ids"][0] = 0; });
  refused([](auto& json) { json["tables"][0]["rows"] = 30'001; });
  refused([](auto& json) { json["tables"][0]["ranges"][0]["end"] = 1; });
  refused([](auto& json) { json["tables"][0]["ranges"][0]["rows_ids"][0][0] = 29'000; });
  refused([](auto& json) { json = nlohmann::ordered_json::array(); });
}

TEST(MeasuredIds, OfOtherTablesAreRefused) {
  const auto ids = std::make_shared<MeasuredIds>(tiny());
  std::vector<Table> tables{{.name = "t", .rows = 7, .dim = 4}};
  std::vector<Feature> features{{.name = "f", .table = 0}};
  EXPECT_THROW(LookupStatistics(tables, features, {.measured = ids}), InputError);
  tables[0].rows = 6;
  EXPECT_NO_THROW(LookupStatistics(tables, features, {.measured = ids}));
  features.push_back(features[0]);
  EXPECT_THROW(LookupStatistics(tables, features, {.measured = ids}), InputError);
}

}  // namespace
}  // namespace shardmark::placement
