// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "reference/tensor_train/row_cache.hpp"

namespace shardmark::reference {
namespace {

TEST(RowCache, HasSetsOf32WaysOrFewer) {
  EXPECT_EQ(row_cache_shape({.rows = 100}), (RowCacheShape{.sets = 3, .ways = 32, .count_slots = 66}));
  EXPECT_EQ(row_cache_shape({.rows = 5, .count_slots = 7}), (RowCacheShape{.sets = 1, .ways = 5, .count_slots = 7}));
  EXPECT_EQ(row_cache_shape({.rows = 6400, .count_slots = 3}).count_slots, 1);
  EXPECT_EQ(row_cache_shape({.rows = 0}).rows(), 0);
}

TEST(RowCache, SpreadsRowsOverItsSets) {
  const RowCacheShape shape = row_cache_shape({.rows = 32 * 64});
  for (const std::int64_t stride : {1, 64, 4096}) {
    std::map<std::int64_t, std::int64_t> rows_of;
    for (std::int64_t i = 0; i < 64 * 200; ++i) ++rows_of[shape.set_of(i * stride)];
    EXPECT_EQ(rows_of.size(), 64U);
    for (const auto& [set, rows] : rows_of) EXPECT_NEAR(static_cast<double>(rows), 200.0, 80.0) << stride;
  }
}

TEST(RowCache, KeepsTheMostUsedRowsAndOfEqualOnesTheSmaller) {
  CachedRows cache({.rows = 2, .count_slots = 8});
  for (const auto& [row, uses] : std::map<std::int64_t, std::int64_t>{{3, 1}, {5, 4}, {8, 2}, {9, 2}})
    cache.count(row, uses);
  EXPECT_EQ(cache.counts(), (RowCacheCounts{.misses = 9}));
  EXPECT_EQ(cache.populate().entered, (std::vector<std::int64_t>{5, 8}));
  // Now 5 counts 2, 8 and 9 count 1, and 3 is forgotten.
  cache.count(9, 1);
  cache.count(5, 1);
  EXPECT_EQ(cache.counts(), (RowCacheCounts{.hits = 1, .misses = 10}));
  const auto [entered, left] = cache.populate();
  EXPECT_EQ(entered, std::vector<std::int64_t>{9});
  EXPECT_EQ(left, std::vector<std::int64_t>{8});
  EXPECT_EQ(cache.counts().evictions, 1);
  EXPECT_TRUE(cache.contains(5) && cache.contains(9) && !cache.contains(8));
}

TEST(RowCache, DropsWhatFindsNoSlot) {
  CachedRows cache({.rows = 1, .count_slots = 2});
  for (const std::int64_t row : {1, 2, 3}) cache.count(row, 5);
  cache.count(2, 1);
  EXPECT_EQ(cache.counts(), (RowCacheCounts{.misses = 16, .drops = 5}));
  EXPECT_EQ(cache.populate().entered, std::vector<std::int64_t>{2});
  cache.count(3, 1);  // 2 has left its slot
  EXPECT_EQ(cache.counts().drops, 5);
}

TEST(RowCache, CopiesAreStaleWhenTheCoresHaveChanged) {
  CachedRows copies({.rows = 1, .writes = CacheWrites::read_only});
  copies.count(7, 3);
  copies.populate();
  copies.count(7, 3);
  copies.cores_changed();
  copies.count(7, 2);
  copies.count(7, 3);
  EXPECT_EQ(copies.counts(), (RowCacheCounts{.hits = 6, .stale = 2, .misses = 3}));
}

/// Against counts that are never dropped: with slots enough, the cache follows a hot set that drifts, and what was hot
/// once leaves (FBTT-Embedding's hit rate falls from 0.40 to 0.05, since its table of counts fills up).
TEST(RowCache, FollowsRowsThatDrift) {
  const std::uint32_t seed = 5;
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  CachedRows cache({.rows = 256, .count_slots = 512});
  std::int64_t hits = 0;
  for (std::int64_t step = 1; step <= 400; ++step) {
    std::map<std::int64_t, std::int64_t> uses;
    const std::int64_t hot = step / 50 * 1000;
    for (int i = 0; i < 300; ++i) ++uses[hot + static_cast<std::int64_t>(random()) % 100];
    for (int i = 0; i < 100; ++i) ++uses[static_cast<std::int64_t>(random()) % 1'000'000];
    const std::int64_t before = cache.counts().hits;
    for (const auto& [row, count] : uses) cache.count(row, count);
    if (step % 50 >= 40) hits += cache.counts().hits - before;
    if (step % 4 == 0) cache.populate();
  }
  EXPECT_GT(hits, 80 * 300 * 95 / 100);
  EXPECT_GT(cache.counts().evictions, 0);
  EXPECT_EQ(cache.counts().hits + cache.counts().misses, 400 * 400);
}

}  // namespace
}  // namespace shardmark::reference
