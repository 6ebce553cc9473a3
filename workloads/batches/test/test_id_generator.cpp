// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "reference/counter_random.hpp"
#include "workloads/batches/id_generator.hpp"

namespace shardmark::workloads {
namespace {

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

TEST(IdGenerator, DriftMovesTheHotRowsFromBatchToBatch) {
  Workload workload = two_features(true);
  const auto rows = rows_of_features(workload);
  for (const bool shuffled : {false, true})
    for (const std::int64_t step : {0, 1, 7, 1000000}) {
      workload.ids.shuffled = shuffled;
      workload.ids.drift = 0;
      const Batch still = generate_batch(workload, 3, step, 0, 100);
      workload.ids.drift = 130;
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
  workload.ids.drift = workload.tables.front().rows - 1;
  EXPECT_NO_THROW(check_batch(generate_batch(workload, 3, 1000, 0, 100), rows_of_features(workload)));
}

TEST(IdGenerator, BatchesDiffer) {
  const Workload workload = two_features(false);
  EXPECT_NE(generate_batch(workload, 3, 0, 0, 100).indices, generate_batch(workload, 3, 1, 0, 100).indices);
  EXPECT_NE(generate_batch(workload, 3, 0, 0, 100).indices, generate_batch(workload, 4, 0, 0, 100).indices);
}

}  // namespace
}  // namespace shardmark::workloads
