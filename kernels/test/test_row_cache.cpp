// SPDX-License-Identifier: Apache-2.0
#include "kernels/test/cached_rows.hpp"

namespace shardmark::kernels::test {
namespace {

struct Drift {
  const char* what;
  std::int64_t rows;
  RowCache cache;
  std::int64_t batch;
};

std::vector<Drift> drifts() {
  const auto cache = [](std::int64_t rows, std::int64_t count_slots, std::int64_t populate_every) {
    return RowCache{.rows = rows, .count_slots = count_slots, .populate_every = populate_every};
  };
  return {{"a tenth of the rows", 3000, cache(300, 0, 3), 400},
          {"one set", 500, cache(32, 0, 2), 100},
          {"fewer rows than ways", 500, cache(5, 0, 1), 60},
          {"one row", 50, cache(1, 0, 1), 20},
          {"all rows", 640, cache(640, 0, 2), 300},
          {"few count slots", 2000, cache(128, 16, 4), 300},
          {"a count slot a set", 2000, cache(128, 4, 2), 200},
          {"more count slots than rows", 200, cache(64, 1000, 5), 100}};
}

TEST(RowCacheDirectory, EqualsTheRuleUnderDriftingIds) {
  std::uint64_t seed = 100;
  for (const auto& [what, rows, cache, batch] : drifts()) {
    SCOPED_TRACE(seed_line(++seed) + ", " + what);
    DriftingIds ids{rows, rows / 100, Random(seed)};
    CachedRows cached(rows, cache);
    for (std::int64_t step = 1; step <= 40; ++step) {
      cached.lookup(ids(step, batch), step % 2 == 0);
      if (step % cache.populate_every == 0) cached.populate();
      if (step % 5 == 0) cached.expect_equal_to_the_rule();
    }
    EXPECT_GT(cached.counts().hits, 0);
  }
}

// The published code keeps the state of a freed slot, and answers with (and trains) another row's vector.
TEST(RowCacheDirectory, EveryHitIsTheRowThatItClaims) {
  constexpr std::uint64_t seed = 7;
  SCOPED_TRACE(seed_line(seed));
  constexpr std::int64_t rows = 5000;
  DriftingIds ids{rows, 40, Random(seed)};
  CachedRows cached(rows, {.rows = 512, .count_slots = 512});
  Rows every(rows);
  for (std::int64_t row = 0; row < rows; ++row) every[at(row)] = row;
  for (std::int64_t step = 1; step <= 100; ++step) {
    cached.lookup(ids(step, 500));  // checks its hits
    cached.populate();
    const Rows slots = cached.find(every);
    EXPECT_EQ(std::count_if(slots.begin(), slots.end(), [](auto slot) { return slot >= 0; }),
              std::ssize(cached.model().cached));
  }
  EXPECT_GT(cached.counts().evictions, 1000);
}

/// Rows of one set that look for their count slots from the same slot on.
Rows rows_that_collide(const RowCacheShape& shape, std::size_t count) {
  Rows rows;
  for (std::int64_t row = 0; rows.size() < count; ++row)
    if (shape.first_slot(row) == shape.count_slots - 1) rows.push_back(row);  // the chain goes around the end
  return rows;
}

// The published code stops looking for a key at a slot that another one has left.
TEST(RowCacheDirectory, ASlotThatBecameFreeHidesNoRowBehindIt) {
  const RowCache cache{.rows = 1, .count_slots = 4};
  CachedRows cached(1000, cache);
  const Rows row = rows_that_collide(row_cache_shape(cache), 4);
  cached.lookup({row[0], row[1], row[1], row[1], row[1], row[2], row[3], row[3]});
  cached.populate();  // row 1 is cached, 0 and 2 are forgotten
  EXPECT_EQ(cached.counted(), (RowUses{{row[3], 1}}));
  cached.lookup({row[3], row[0], row[2]});
  EXPECT_EQ(cached.counted(), (RowUses{{row[0], 1}, {row[2], 1}, {row[3], 2}}));
  EXPECT_EQ(cached.counts().drops, 0);
  cached.expect_equal_to_the_rule();
}

// The published code, with as many count slots as cached rows, never evicts: its hit rate falls from 0.40 to 0.05.
TEST(RowCacheDirectory, FollowsADriftWithAsManyCountSlotsAsCachedRows) {
  constexpr std::uint64_t seed = 11;
  SCOPED_TRACE(seed_line(seed));
  constexpr std::int64_t rows = 20000, batch = 1000, steps = 80;
  DriftingIds ids{rows, 50, Random(seed)};
  CachedRows cached(rows, {.rows = 1000, .count_slots = 1000});
  const auto hits_of = [&](std::int64_t begin) {
    const std::int64_t before = cached.counts().hits;
    for (std::int64_t step = begin; step < begin + steps / 2; ++step) {
      cached.lookup(ids(step, batch));
      if (step % 4 == 3) cached.populate();
    }
    return cached.counts().hits - before;
  };
  const std::int64_t early = hits_of(0), late = hits_of(steps / 2);
  EXPECT_GT(early, batch * steps / 2 / 4);
  EXPECT_GT(late, early * 9 / 10);
  EXPECT_GT(cached.counts().evictions, 0);
  cached.expect_equal_to_the_rule();
}

TEST(RowCacheDirectory, DropsWhatNoSlotIsFreeFor) {
  CachedRows cached(100, {.rows = 2, .count_slots = 3});
  cached.lookup({9, 7, 5, 3, 3, 1, 1, 1}, false);  // smaller rows come first
  EXPECT_EQ(cached.counted(), (RowUses{{1, 3}, {3, 2}, {5, 1}}));
  EXPECT_EQ(cached.counts(), (RowCacheCounts{.misses = 8, .drops = 2}));
  cached.populate();
  EXPECT_EQ(cached.cached(), (RowUses{{1, 1}, {3, 1}}));
  EXPECT_EQ(cached.counted(), RowUses{});
  cached.lookup({1, 5, 7, 1, 7, 7});
  EXPECT_EQ(cached.counts(), (RowCacheCounts{.hits = 2, .misses = 12, .drops = 2}));
  cached.populate();
  EXPECT_EQ(cached.cached(), (RowUses{{1, 1}, {7, 1}}));
  EXPECT_EQ(cached.counts().evictions, 1);
  cached.expect_equal_to_the_rule();
}

TEST(RowCacheDirectory, ReportsCopiesThatAreOlderThanTheCores) {
  CachedRows cached(100, {.rows = 4, .writes = CacheWrites::read_only});
  cached.lookup({1, 2, 2, 3});
  cached.populate();
  for (const auto slot : cached.find({1, 2, 3})) EXPECT_LT(slot, row_not_cached) << "not copied yet";
  cached.refresh(1);
  cached.lookup({1, 2, 3, 4});
  EXPECT_EQ(cached.counts(), (RowCacheCounts{.hits = 3, .misses = 5}));
  cached.change_cores();
  cached.lookup({1, 2, 2, 4});
  EXPECT_EQ(cached.counts(), (RowCacheCounts{.hits = 3, .stale = 3, .misses = 6}));
  cached.expect_equal_to_the_rule();  // stale rows are not counted twice, as cached and as missed
  cached.refresh(2);
  cached.populate();
  cached.lookup({1, 4});
  EXPECT_EQ(cached.counts(), (RowCacheCounts{.hits = 4, .stale = 4, .misses = 6})) << "4 has entered";
  cached.expect_equal_to_the_rule();
}

TEST(RowCacheDirectory, AgesNoRowThatIsTrained) {
  CachedRows cached(100, {.rows = 4});
  cached.lookup({1, 2});
  cached.populate();
  cached.change_cores();
  cached.lookup({1, 2});
  EXPECT_EQ(cached.counts(), (RowCacheCounts{.hits = 2, .misses = 2}));
}

TEST(RowCacheDirectory, TakesAnEmptyBatchAndPopulatesFromNothing) {
  CachedRows cached(100, {.rows = 64});
  cached.lookup({});
  cached.populate();
  cached.lookup({5}, false);
  cached.populate();
  cached.lookup({});
  cached.populate();
  EXPECT_EQ(cached.cached(), (RowUses{{5, 0}}));
  EXPECT_EQ(cached.counts(), (RowCacheCounts{.misses = 1}));
}

TEST(RowCacheDirectory, GivesTheSameSlotsForAnyNumberOfThreads) {
  constexpr std::uint64_t seed = 23;
  SCOPED_TRACE(seed_line(seed));
  constexpr std::int64_t rows = 4000;
  const RowCache cache{.rows = 400, .count_slots = 200};
  DriftingIds ids{rows, 40, Random(seed)};
  CachedRows all(rows, cache), half(rows, cache, half_of_the_threads());
  for (std::int64_t step = 0; step < 20; ++step) {
    const Rows step_ids = ids(step, 1000);
    for (auto* cached : {&all, &half}) {
      cached->lookup(step_ids);
      cached->populate();
    }
    EXPECT_EQ(host(all.directory().arrays().rows), host(half.directory().arrays().rows));
    EXPECT_EQ(host(all.directory().arrays().counted_rows), host(half.directory().arrays().counted_rows));
  }
}

TEST(SplitFound, ListsHitsAndMissesInOrder) {
  const Space exec;
  Random random(31);
  for (const std::int64_t n : {0, 1, 511, 512, 5000}) {
    Rows slots(at(n)), hits, misses;
    for (std::int64_t p = 0; p < n; ++p) {
      slots[at(p)] = draw(random, -3, 3);
      (slots[at(p)] < 0 ? misses : hits).push_back(p);
    }
    const Array<Space, std::int64_t> hit("hits", at(n)), missed("misses", at(n));
    const std::int64_t count = split_found<Space>(exec, array_of(exec, slots, "slots"), hit, missed);
    ASSERT_EQ(count, std::ssize(misses));
    Rows found_hits = host(hit), found_misses = host(missed);
    found_hits.resize(hits.size());
    found_misses.resize(misses.size());
    EXPECT_EQ(found_hits, hits);
    EXPECT_EQ(found_misses, misses);
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
