// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "reference/dynamic/dynamic_table.hpp"

namespace shardmark::reference {
namespace {

using Keys = std::vector<std::int64_t>;

constexpr RowValues initial_rows{.seed = 5, .unit = 0x1p-7F};
const Table table_of_tests{.name = "t", .dim = 4, .optimizer = {.kind = OptimizerKind::rowwise_adagrad}};

DynamicTable dynamic_table(std::string_view eviction, std::int64_t capacity = 0, std::string_view admission = "all",
                           AbsentRows absent = AbsentRows::zero) {
  return {{admission_named(admission), eviction_named(eviction, capacity), absent}, table_of_tests, 2, initial_rows};
}

Keys keys_of(const DynamicTable& table) {
  Keys keys;
  for (const auto& [key, row] : table.rows()) keys.push_back(key);
  return keys;
}

/// Returns the first keys of bucket 0, ascending.
Keys keys_of_a_bucket(std::size_t count) {
  const KeyBuckets buckets = KeyBuckets::of_table(2);
  Keys keys;
  for (std::int64_t key = 0; keys.size() < count; ++key)
    if (buckets.bucket(key) == 0) keys.push_back(key);
  return keys;
}

std::vector<float> initial_values_of(std::int64_t key) {
  std::vector<float> values;
  for (std::int64_t c = 0; c < table_of_tests.dim; ++c) values.push_back(initial_rows(2, key, c));
  return values;
}

TEST(DynamicTable, GivesEveryKeyTheValuesOfItsNumber) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  DynamicTable table = dynamic_table("none");
  table.bring(1, {{0, 1}, {-1, 1}, {least, 1}, {most, 1}, {std::int64_t{1} << 32, 1}});
  std::set<std::vector<float>> seen;
  for (const std::int64_t key : {std::int64_t{0}, std::int64_t{-1}, least, most, std::int64_t{1} << 32}) {
    ASSERT_NE(table.find(key), nullptr);
    EXPECT_EQ(table.find(key)->values, initial_values_of(key));
    seen.insert(table.find(key)->values);
  }
  EXPECT_EQ(seen.size(), 5U);  // no key is cut to 32 bits
  EXPECT_EQ(table.end(1), Keys{});
}

TEST(DynamicTable, IsLeftAloneByReads) {
  DynamicTable table = dynamic_table("lru", 4096, "counter:2", AbsentRows::initial);
  table.bring(1, {{1, 1}, {2, 2}});
  table.find(2)->values = {1, 2, 3, 4};
  for (int evaluation = 0; evaluation < 1000; ++evaluation) {
    EXPECT_EQ(table.read(1), initial_values_of(1));
    EXPECT_EQ(table.read(2), (std::vector<float>{1, 2, 3, 4}));
  }
  EXPECT_EQ(keys_of(table), Keys{2});
  EXPECT_EQ(table.filter().counted(1), 1);
  EXPECT_EQ(table.find(2)->use, (RowUse{.last = 1, .uses = 2}));
  EXPECT_EQ(dynamic_table("none").read(1), std::vector<float>(4));
}

TEST(DynamicTable, EvictsWhatWasIdleForMoreThanLSteps) {
  DynamicTable table = dynamic_table("idle:5");
  const Keys keys = keys_of_a_bucket(3);  // is examined after steps 64 and 128
  const auto step = [&](std::int64_t number, const KeyUses& uses) {
    table.bring(number, uses);
    return table.end(number);
  };
  EXPECT_EQ(step(57, {{keys[0], 1}}), Keys{});
  EXPECT_EQ(step(58, {{keys[2], 9}, {keys[1], 1}}), Keys{});
  EXPECT_EQ(step(59, {{keys[1], 1}}), Keys{});
  EXPECT_EQ(step(63, {}), Keys{});  // both have expired, but not been looked for
  EXPECT_EQ(step(64, {}), (Keys{keys[0], keys[2]}));
  EXPECT_EQ(step(128, {}), Keys{keys[1]});
}

TEST(DynamicTable, EvictsRowsOfASmallNorm) {
  DynamicTable table = dynamic_table("l2:0.5");
  const Keys keys = keys_of_a_bucket(3);
  table.bring(64, {{keys[0], 1}, {keys[1], 1}, {keys[2], 1}});
  table.find(keys[0])->values = {0.25F, 0.25F, 0.25F, 0.25F};  // 0.5, and not below it
  table.find(keys[1])->values = {0.25F, 0.25F, 0.25F, 0.2F};
  table.find(keys[2])->values = {0, 0, 0, -0.1F};
  EXPECT_EQ(table.end(64), (Keys{keys[2], keys[1]}));
}

TEST(DynamicTable, KeepsTheCapacityOfABucketByScoreAndKey) {
  const Keys k = keys_of_a_bucket(6);
  DynamicTable lru = dynamic_table("lru", 2 * key_buckets), lfu = dynamic_table("lfu", 2 * key_buckets);
  for (DynamicTable* table : {&lru, &lfu}) {
    table->bring(1, {{k[0], 9}, {k[5], 1}});
    EXPECT_EQ(table->end(1), Keys{});
    table->bring(2, {{k[3], 2}, {k[2], 2}, {k[1], 1}});
  }
  EXPECT_EQ(lru.end(2), (Keys{k[0], k[5], k[1]}));
  EXPECT_EQ(lfu.end(2), (Keys{k[1], k[5], k[2]}));
}

TEST(DynamicTable, MakesRoomForASixteenthOfABucket) {
  const Keys k = keys_of_a_bucket(33);
  DynamicTable table = dynamic_table("lru", 32 * key_buckets);
  KeyUses uses;
  for (std::size_t i = 0; i < 32; ++i) uses[k[i]] = 1;
  table.bring(1, uses);
  EXPECT_EQ(table.end(1), Keys{});
  table.bring(2, {{k[32], 1}});
  EXPECT_EQ(table.end(2), (Keys{k[0], k[1], k[2]}));
}

TEST(DynamicTable, DoesNotEvictWhatAStepInFlightHasBrought) {
  const Keys k = keys_of_a_bucket(4);
  DynamicTable table = dynamic_table("lru", key_buckets);
  table.bring(1, {{k[0], 1}, {k[1], 1}});
  table.bring(2, {{k[0], 1}, {k[2], 1}});
  EXPECT_EQ(table.end(1), Keys{k[1]});  // two are left, in a bucket of one, because both are pinned
  table.bring(3, {{k[3], 1}});
  EXPECT_EQ(table.end(2), (Keys{k[0], k[2]}));
  EXPECT_EQ(table.end(3), Keys{});
}

// HugeCTR keeps the optimizer state of a row that it evicts, dynamicemb gave its frequency to the next key.
TEST(DynamicTable, ForgetsWhatItEvicts) {
  const Keys k = keys_of_a_bucket(2);
  DynamicTable table = dynamic_table("lfu", key_buckets, "counter:2");
  table.bring(1, {{k[0], 5}});
  table.find(k[0])->values[0] = 100;
  table.find(k[0])->state[0] = 100;
  table.end(1);
  table.bring(2, {{k[1], 6}});
  EXPECT_EQ(table.end(2), Keys{k[0]});
  table.bring(3, {{k[0], 1}});
  EXPECT_EQ(table.find(k[0]), nullptr);  // it must be admitted again
  table.bring(4, {{k[0], 1}});
  ASSERT_NE(table.find(k[0]), nullptr);
  EXPECT_EQ(table.find(k[0])->values, initial_values_of(k[0]));
  EXPECT_EQ(table.find(k[0])->state, std::vector<float>{0.0F});
  EXPECT_EQ(table.find(k[0])->use, (RowUse{.last = 4, .uses = 1}));
}

}  // namespace
}  // namespace shardmark::reference
