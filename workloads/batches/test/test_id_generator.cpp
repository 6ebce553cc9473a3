// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "reference/counter_random.hpp"
#include "reference/dynamic/key_buckets.hpp"
#include "workloads/batches/id_generator.hpp"
#include "workloads/batches/permute.hpp"

namespace shardmark::workloads {
namespace {

Batch generate_batch(const Workload& workload, std::uint64_t seed, std::int64_t step, std::int64_t first,
                     std::int64_t count) {
  return IdGenerator(workload, seed).batch(step, first, count);
}

Workload two_features(bool ragged) {
  Workload workload;
  workload.tables = {{.name = "a", .rows = 1000, .dim = 4, .optimizer = {}},
                     {.name = "b", .rows = 3, .dim = 4, .optimizer = {}}};
  workload.features = {{.name = "a", .table = 0, .pooling = Pooling::sum, .hotness = 2},
                       {.name = "b", .table = 1, .pooling = Pooling::sum, .hotness = 1}};
  workload.global_batch = 100;
  workload.ids.ragged = ragged;
  workload.ids.weighted = ragged;
  return workload;
}

TEST(IdGenerator, PowerLawHasThePublishedProbabilityOfTheHottestId) {
  // P(0) = (1 - 2^g) / (1 - (N + 1)^g) with g = -0.05: 0.0683 for a million rows.
  EXPECT_EQ(0, draw_power_law(0.0682, 1000000, 1.05));
  EXPECT_EQ(1, draw_power_law(0.0684, 1000000, 1.05));
  EXPECT_EQ(999999, draw_power_law(0x1.fffffffffffffp-1, 1000000, 1.05));
  EXPECT_EQ(0, draw_power_law(0.0, 1, 1.05));
}

TEST(IdGenerator, PowerLawOfExponentOneAndZero) {
  EXPECT_EQ(9, draw_power_law(0.5, 99, 1.0));      // 100^0.5 - 1
  EXPECT_EQ(49, draw_power_law(0.495, 100, 0.0));  // uniform: 0.495 * 100 + 1 = 50.5
}

TEST(IdGenerator, PermuteIsABijection) {
  for (const std::int64_t rows : {1, 2, 3, 17, 64, 1000}) {
    std::set<std::int64_t> seen;
    for (std::int64_t id = 0; id < rows; ++id) seen.insert(permute(5, rows, id));
    EXPECT_EQ(rows, std::ssize(seen));
    EXPECT_EQ(0, *seen.begin());
    EXPECT_EQ(rows - 1, *seen.rbegin());
  }
  EXPECT_NE(permute(5, 1000, 0), permute(6, 1000, 0));
}

TEST(IdGenerator, SamplesDoNotDependOnHowTheBatchIsCut) {
  for (const bool ragged : {false, true}) {
    const Workload workload = two_features(ragged);
    const Batch whole = generate_batch(workload, 3, 2, 0, 100);
    for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>(0, 33), {33, 34}, {67, 33}, {50, 0}}) {
      const Batch part = generate_batch(workload, 3, 2, first, count);
      const Batch expected = slice_samples(whole, first, count);
      EXPECT_EQ(expected.offsets, part.offsets);
      EXPECT_EQ(expected.indices, part.indices);
      EXPECT_EQ(expected.weights, part.weights);
    }
    const std::array<std::int64_t, 2> rows{1000, 3};
    EXPECT_NO_THROW(check_batch(whole, rows));
  }
}

TEST(IdGenerator, RaggedBagsHoldUpToTwiceTheHotness) {
  const Batch batch = generate_batch(two_features(true), 3, 0, 0, 100);
  std::set<std::int64_t> lengths;
  for (std::int64_t bag = 0; bag < 100; ++bag) lengths.insert(batch.offsets[bag + 1] - batch.offsets[bag]);
  EXPECT_EQ((std::set<std::int64_t>{0, 1, 2, 3, 4}), lengths);
  for (const float weight : batch.weights) {
    EXPECT_GT(weight, 0.0F);
    EXPECT_LE(weight, 2.0F);
  }
}

Workload nested(bool ragged) {
  Workload workload = two_features(ragged);
  workload.features[0].hotness = 6;
  workload.features[0].segments = 3;
  return workload;
}

TEST(IdGenerator, NestedIdsFillTheSegments) {
  const Batch batch = generate_batch(nested(false), 3, 0, 0, 100);
  for (std::int64_t s = 0; s <= 100; ++s) EXPECT_EQ(batch.first_segment[s], 3 * s);
  for (std::int64_t k = 0; k <= 300; ++k) EXPECT_EQ(batch.segment_offsets[k], 2 * k);
  for (std::int64_t s = 100; s < 200; ++s) EXPECT_EQ(batch.first_segment[s + 1] - batch.first_segment[s], 1);
  Workload flat = nested(false);
  flat.features[0].segments = 0;
  EXPECT_EQ(batch.indices, generate_batch(flat, 3, 0, 0, 100).indices);
  EXPECT_TRUE(generate_batch(flat, 3, 0, 0, 100).first_segment.empty());
}

TEST(IdGenerator, RaggedSegmentsAreUpToTwiceAsManyAndAsLong) {
  const Batch batch = generate_batch(nested(true), 3, 2, 0, 400);
  EXPECT_NO_THROW(check_batch(batch, std::array<std::int64_t, 2>{1000, 3}));
  std::set<std::int64_t> segments, lengths;
  for (std::int64_t s = 0; s < 400; ++s) segments.insert(batch.first_segment[s + 1] - batch.first_segment[s]);
  for (std::int64_t k = 0; k < batch.first_segment[400]; ++k)
    lengths.insert(batch.segment_offsets[k + 1] - batch.segment_offsets[k]);
  EXPECT_EQ(segments, (std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(lengths, (std::set<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_NEAR(static_cast<double>(batch.end_of(0)) / 400, 6.0, 0.6);
  const Batch part = generate_batch(nested(true), 3, 2, 150, 90), expected = slice_samples(batch, 150, 90);
  EXPECT_EQ(part.first_segment, expected.first_segment);
  EXPECT_EQ(part.segment_offsets, expected.segment_offsets);
  EXPECT_EQ(part.indices, expected.indices);
}

TEST(IdGenerator, ShiftMovesTheHotRowsFromBatchToBatch) {
  Workload workload = two_features(true);
  const auto rows = rows_of_features(workload);
  for (const bool shuffled : {false, true})
    for (const std::int64_t step : {0, 1, 7, 1000000}) {
      workload.ids.shuffled = shuffled;
      workload.ids.shift = 0;
      const Batch still = generate_batch(workload, 3, step, 0, 100);
      workload.ids.shift = 130;
      const Batch moved = generate_batch(workload, 3, step, 0, 100);
      EXPECT_EQ(still.offsets, moved.offsets);
      EXPECT_EQ(still.weights, moved.weights);
      for (std::int64_t f = 0; f < still.features; ++f)
        for (std::int64_t i = still.offsets[f * 100]; i < still.offsets[(f + 1) * 100]; ++i) {
          const std::int64_t ahead = 130 * step % rows[f];
          if (shuffled) {
            const std::uint64_t key = random_bits(3, workload.features[f].table);
            std::int64_t id = 0;
            while (permute(key, rows[f], id) != still.indices[i]) ++id;
            EXPECT_EQ(permute(key, rows[f], (id + ahead) % rows[f]), moved.indices[i]);
          } else {
            EXPECT_EQ((still.indices[i] + ahead) % rows[f], moved.indices[i]);
          }
        }
    }
  workload.tables.front().rows = std::numeric_limits<std::int64_t>::max() / 2;
  workload.ids.shift = workload.tables.front().rows - 1;
  EXPECT_NO_THROW(check_batch(generate_batch(workload, 3, 1000, 0, 100), rows_of_features(workload)));
}

TEST(IdGenerator, PermutedBackIsTheInverse) {
  for (const std::int64_t rows : {1, 2, 3, 17, 64, 1000, 1 << 20})
    for (std::int64_t id = 0; id < rows; id += 1 + rows / 500)
      EXPECT_EQ(id, permuted_back(5, rows, permute(5, rows, id))) << rows;
}

using RowsOfBatch = std::set<std::int64_t>;

RowsOfBatch rows_of(const Batch& batch, std::int64_t feature) {
  return {batch.indices.begin() + batch.offsets[feature * batch.samples],
          batch.indices.begin() + batch.offsets[(feature + 1) * batch.samples]};
}

/// Returns which share of the distinct rows of one batch another has.
double overlap(const RowsOfBatch& rows, const RowsOfBatch& before) {
  std::int64_t both = 0;
  for (const std::int64_t row : rows) both += before.contains(row) ? 1 : 0;
  return static_cast<double>(both) / static_cast<double>(rows.size());
}

Workload one_feature(std::int64_t rows, std::int64_t hotness, bool ragged) {
  Workload workload;
  workload.tables = {{.name = "a", .rows = rows, .dim = 4, .optimizer = {}}};
  workload.features = {{.name = "a", .table = 0, .pooling = Pooling::sum, .hotness = hotness}};
  workload.global_batch = 4000;
  workload.ids.ragged = ragged;
  return workload;
}

TEST(IdMotion, OverlapIsTheShareOfDistinctRowsThatTheBatchBeforeHas) {
  for (const double alpha : {0.0, 1.05})
    for (const bool ragged : {false, true})
      for (const double share : {0.1, 0.3, 0.5, 0.9, 1.0}) {
        Workload workload = one_feature(200'000, 3, ragged);
        workload.ids.alpha = alpha;
        workload.ids.overlap = share;
        const Batch before = generate_batch(workload, 3, 8, 0, 4000), now = generate_batch(workload, 3, 9, 0, 4000);
        EXPECT_NEAR(overlap(rows_of(now, 0), rows_of(before, 0)), share, 0.02) << alpha << ragged;
        workload.ids.overlap.reset();  // each batch has as many rows as ever
        const auto rows = static_cast<double>(rows_of(generate_batch(workload, 3, 9, 0, 4000), 0).size());
        EXPECT_NEAR(static_cast<double>(rows_of(now, 0).size()), rows, 0.05 * rows) << alpha << ragged << share;
      }
}

TEST(IdMotion, AShareOfTheIdsExchangeTheirRowsEverySoManyBatches) {
  for (const std::int64_t rows : {3, 1000, 1500, 100'000})
    for (const double share : {0.1, 0.5, 1.0}) {
      Workload workload = one_feature(rows, 1, false);
      workload.ids.drift = {share, 8};
      const IdMotion motion(workload, 3);
      const auto places = [&](std::int64_t step) {
        const IdMotion::InBatch here = motion.in_batch(step);
        std::vector<std::int64_t> of_ids;
        for (std::int64_t id = 0; id < rows; ++id) of_ids.push_back(here.row(0, id));
        return of_ids;
      };
      if (rows > 10'000 && share < 1.0) continue;
      const auto first = places(7), second = places(8), third = places(16);
      std::int64_t moved = 0, moved_again = 0;
      for (std::int64_t id = 0; id < rows; ++id) {
        EXPECT_EQ(first[id], id);
        moved += second[id] != id ? 1 : 0;
        moved_again += third[id] != second[id] ? 1 : 0;
      }
      EXPECT_EQ(std::set(second.begin(), second.end()).size(), static_cast<std::size_t>(rows));
      EXPECT_EQ(std::set(third.begin(), third.end()).size(), static_cast<std::size_t>(rows));
      if (rows < 10) continue;
      const double most = share * static_cast<double>(rows);
      EXPECT_NEAR(static_cast<double>(moved), most, 0.35 * most) << rows;
      EXPECT_NEAR(static_cast<double>(moved_again), most, 0.35 * most) << rows;
      EXPECT_NE(second, third);
    }
}

/// Returns two features of one table of any keys, and one of another.
Workload any_keys(bool ragged) {
  Workload workload = two_features(ragged);
  workload.features.push_back({.name = "c", .table = 0, .pooling = Pooling::sum, .hotness = 1});
  for (Table& table : workload.tables) table.any_key = true;
  workload.tables[1].rows = 1'000'000;
  workload.ids.weighted = false;
  return workload;
}

std::set<std::int64_t> keys_of(const Batch& batch, std::int64_t feature) {
  return {batch.indices.begin() + batch.begin_of(feature), batch.indices.begin() + batch.end_of(feature)};
}

/// The keys of the law are scattered_key of its ids, of every table its own, and do not depend on the seed.
TEST(IdGenerator, AnyKeysAreIntegersOfAllSizes) {
  Workload workload = any_keys(false);
  const Batch any = generate_batch(workload, 3, 5, 0, 100);
  for (Table& table : workload.tables) table.any_key = false;
  const Batch rows = generate_batch(workload, 3, 5, 0, 100);
  std::int64_t negative = 0, wide = 0;
  for (std::int64_t f = 0; f < any.features; ++f)
    for (std::int64_t i = any.begin_of(f); i < any.end_of(f); ++i) {
      EXPECT_EQ(any.indices[i], scattered_key(workload.features[f].table, rows.indices[i]));
      negative += any.indices[i] < 0;
      wide += (any.indices[i] ^ any.indices[i] >> 63) >> 32 != 0;
    }
  EXPECT_GT(negative, any.nnz() / 3);
  EXPECT_GT(wide, any.nnz() - 3);
}

/// Each batch names so many keys that none before has, alike however it is cut; all are among those that are expected.
TEST(IdGenerator, AShareOfTheKeysOfABatchIsNew) {
  for (const bool ragged : {false, true}) {
    Workload workload = any_keys(ragged);
    workload.ids.fresh = 0.1;
    EXPECT_EQ(births_of(workload, 0).fresh, ragged ? 60 : 30);
    EXPECT_EQ(births_of(workload, 1).fresh, ragged ? 20 : 10);
    EXPECT_EQ(births_of(workload, 0).most_keys(7), 1000 + 7 * (ragged ? 60 : 30));
    std::set<std::int64_t> seen;
    for (std::int64_t id = 0; id < 1000; ++id) seen.insert(scattered_key(0, id));
    std::int64_t named_again = 0, born = 0;
    for (std::int64_t step = 0; step < 40; ++step) {
      const Batch batch = generate_batch(workload, 3, step, 0, 100), tail = generate_batch(workload, 3, step, 60, 40);
      EXPECT_EQ(slice_samples(batch, 60, 40).indices, tail.indices);
      std::set<std::int64_t> now = keys_of(batch, 0);
      now.merge(keys_of(batch, 2));
      for (const std::int64_t key : now) (seen.contains(key) ? named_again : born) += 1;
      const std::int64_t before = std::ssize(seen);
      seen.merge(now);
      if (!ragged) {
        EXPECT_EQ(std::ssize(seen) - before, 30) << step;
      }
    }
    // Where bags are ragged, a later batch may be the first to name a key whose place has no id.
    EXPECT_GE(born, ragged ? 40 * 25 : 40 * 30);
    EXPECT_LE(born, ragged ? 40 * 50 : 40 * 30);
    EXPECT_GT(named_again, 500);
    EXPECT_LE(std::ssize(seen), births_of(workload, 0).most_keys(40));
  }
}

/// Half of the keys are others after a half-life, all of them after two, and as many as ever are alive.
TEST(IdGenerator, KeysDieAndOthersAreHot) {
  Workload workload = any_keys(false);
  workload.features = {{.name = "a", .table = 0, .pooling = Pooling::sum, .hotness = 100}};
  workload.tables[0].rows = 200;
  workload.ids.distribution = IdDistribution::uniform;
  workload.ids.half_life = 16;
  std::vector<std::set<std::int64_t>> alive;
  std::set<std::int64_t> ever;
  for (std::int64_t step = 0; step < 65; ++step) {
    const Batch batch = generate_batch(workload, 3, step, 0, 100);
    alive.push_back(keys_of(batch, 0));
    EXPECT_EQ(std::ssize(alive.back()), 200);
    ever.insert(alive.back().begin(), alive.back().end());
  }
  const auto left = [&](std::int64_t from, std::int64_t to) {
    return std::ranges::count_if(alive[from], [&](std::int64_t key) { return alive[to].contains(key); });
  };
  for (const std::int64_t from : {0, 7, 30}) {
    EXPECT_NEAR(static_cast<double>(left(from, from + 16)), 100, 40);
    EXPECT_EQ(left(from, from + 32), 0);
    EXPECT_GT(left(from, from + 1), 170);
  }
  EXPECT_LE(std::ssize(ever), births_of(workload, 0).most_keys(65));
  EXPECT_GT(std::ssize(ever), 200 * 65 / 32);
}

TEST(IdGenerator, BatchesDiffer) {
  const Workload workload = two_features(false);
  EXPECT_NE(generate_batch(workload, 3, 0, 0, 100).indices, generate_batch(workload, 3, 1, 0, 100).indices);
  EXPECT_NE(generate_batch(workload, 3, 0, 0, 100).indices, generate_batch(workload, 4, 0, 0, 100).indices);
}

}  // namespace
}  // namespace shardmark::workloads
