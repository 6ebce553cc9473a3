// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "reference/dynamic/admission.hpp"
#include "reference/dynamic/eviction.hpp"
#include "reference/error.hpp"

namespace shardmark::reference {
namespace {

using Keys = std::vector<std::int64_t>;

constexpr KeyBuckets buckets_of_tests = KeyBuckets::of_table(1);
static_assert(buckets_of_tests.bits(0) != buckets_of_tests.bits(-1));
static_assert(bucket_capacity(4099, 2) == 2 && bucket_capacity(4099, 3) == 1);

Admission bloom(std::int64_t uses, double p, std::int64_t keys) {
  return {.kind = AdmissionKind::bloom, .uses = uses, .false_positives = p, .expected_keys = keys};
}

TEST(KeyBuckets, SpreadKeysOfAStrideAsRandomOnes) {
  constexpr std::int64_t per_bucket = 64, keys = per_bucket * key_buckets;
  for (const std::int64_t stride : {std::int64_t{1}, std::int64_t{3}, std::int64_t{4096}, std::int64_t{1} << 20,
                                    std::int64_t{1} << 46, std::int64_t{-7}}) {
    std::vector<std::int64_t> counts(key_buckets);
    for (std::int64_t i = 0; i < keys; ++i) ++counts[buckets_of_tests.bucket(i * stride)];
    EXPECT_GT(*std::ranges::min_element(counts), per_bucket - 6 * 8) << "stride " << stride;  // 8: standard deviation
    EXPECT_LT(*std::ranges::max_element(counts), per_bucket + 6 * 8) << "stride " << stride;
  }
}

TEST(KeyBuckets, ShareOutACapacityToTheRow) {
  for (const std::int64_t capacity : {4096, 5000, 2'000'000}) {
    std::int64_t sum = 0;
    for (std::int64_t bucket = 0; bucket < key_buckets; ++bucket) sum += bucket_capacity(capacity, bucket);
    EXPECT_EQ(sum, capacity);
  }
}

TEST(Admission, IsNamed) {
  EXPECT_EQ(admission_named("all"), Admission{});
  EXPECT_EQ(admission_named("counter:3"), (Admission{.kind = AdmissionKind::counter, .uses = 3}));
  EXPECT_EQ(admission_named("bloom:3:0.01"), bloom(3, 0.01, 0));
  for (const char* bad : {"", "count:3", "all:1", "counter", "counter:", "counter:0", "counter:3:0.1", "counter:x",
                          "counter:4294967296", "bloom:3", "bloom:3:0", "bloom:3:1", "bloom:3:nan", "bloom:3:0.1:2"})
    EXPECT_THROW(admission_named(bad), InputError) << bad;
}

TEST(Eviction, AndAdmissionAreNamedByTheTextThatTheyGive) {
  for (const char* text : {"all", "counter:3", "bloom:300:0.01", "bloom:2:1e-06"})
    EXPECT_EQ(text_of(admission_named(text)), text);
  for (const char* text : {"none", "idle:4000", "l2:0.5", "lru", "lfu"}) EXPECT_EQ(text_of(eviction_named(text)), text);
}

TEST(Eviction, IsNamed) {
  EXPECT_EQ(eviction_named("none", 0), Eviction{});
  EXPECT_EQ(eviction_named("idle:4k", 0), (Eviction{.kind = EvictionKind::idle, .threshold = 4000}));
  EXPECT_EQ(eviction_named("l2:0.5", 5000), (Eviction{EvictionKind::l2, 0.5, 5000}));
  EXPECT_EQ(eviction_named("lru", 4096), (Eviction{EvictionKind::lru, 0.0, 4096}));
  for (const char* bad : {"", "old", "none:1", "idle", "idle:", "idle:-1", "idle:0.5", "l2:0", "l2:inf", "lru", "lfu"})
    EXPECT_THROW(eviction_named(bad, 0), InputError) << bad;
  EXPECT_THROW(eviction_named("lru", 4095), InputError);
  EXPECT_THROW(eviction_named("none", 5000), InputError);
  EXPECT_THROW(eviction_named("lru:1", 5000), InputError);
}

TEST(KeyFilter, AdmitsInTheStepInWhichTheCountReachesF) {
  for (const auto kind : {AdmissionKind::counter, AdmissionKind::bloom}) {
    Admission admission = bloom(3, 1e-6, 4096);
    admission.kind = kind;
    KeyFilter filter(admission, buckets_of_tests);
    EXPECT_EQ(filter.admit({{-1, 2}, {0, 3}, {5, 1}}), Keys{0});
    EXPECT_EQ(filter.counted(-1), 2);
    EXPECT_EQ(filter.admit({{5, 1}}), Keys{});
    EXPECT_EQ(filter.admit({{-1, 1}, {5, 7}}), (Keys{-1, 5}));
  }
}

TEST(KeyFilter, ACounterForgetsWhatItAdmitted) {
  KeyFilter filter({.kind = AdmissionKind::counter, .uses = 2}, buckets_of_tests);
  EXPECT_EQ(filter.admit({{7, 2}}), Keys{7});
  EXPECT_EQ(filter.counted(7), 0);
  EXPECT_EQ(filter.admit({{7, 1}}), Keys{});  // evicted meanwhile
}

TEST(BloomShape, CountersHoldFInTheFewestBits) {
  for (const auto& [uses, bits] : std::map<std::int64_t, std::int64_t>{
           {1, 1}, {2, 2}, {3, 2}, {4, 4}, {15, 4}, {16, 8}, {255, 8}, {256, 16}, {65'535, 16}, {65'536, 32}})
    EXPECT_EQ(bloom_shape(bloom(uses, 0.01, 1)).counter_bits, bits) << uses;
}

// DeepRec's example, 2^30 keys of 8-byte counters at p = 0.01, takes 76.7 bytes a key.
TEST(BloomShape, LayersDoubleUpToTheCountersOfTheExpectedKeys) {
  const BloomShape large = bloom_shape(bloom(3, 0.01, std::int64_t{1} << 30));
  EXPECT_EQ(large.hashes, 11);  // log2(16 / 0.01) = 10.6
  EXPECT_NEAR(static_cast<double>(large.lines * BloomShape::line_bytes * key_buckets) / 0x1p30, 3.97, 0.01);
  for (const std::int64_t keys : {1, 4096, 70'000, 131'073, 1'000'000, 33'000'000})
    for (const std::int64_t uses : {1, 3, 300})
      for (std::int64_t bucket = 0; bucket < 100; ++bucket) {
        SCOPED_TRACE(std::to_string(keys) + " keys, F = " + std::to_string(uses) + ", bucket " +
                     std::to_string(bucket));
        const BloomShape shape = bloom_shape(bloom(uses, 0.1, keys));
        const std::int64_t last = shape.layer_of(bucket, shape.lines - 1);
        EXPECT_LE(last, shape.layers() - 1);
        EXPECT_LE(std::ldexp(static_cast<double>(shape.layers()), static_cast<int>(-shape.hashes)), 0.1);
        std::int64_t counters = 0;
        for (std::int64_t layer = 0; layer <= last; ++layer) {
          const std::int64_t begin = shape.begin(bucket, layer), end = shape.end(bucket, layer);
          EXPECT_LT(begin, end);
          EXPECT_LE(end, std::max(3 * shape.first_lines, 3 * (begin + 1)));
          EXPECT_EQ(shape.layer_of(bucket, begin), layer);
          EXPECT_EQ(shape.layer_of(bucket, end - 1), layer);
          counters += shape.counters(bucket, layer);
        }
        EXPECT_EQ(counters, shape.lines * 512 / shape.counter_bits);
        EXPECT_GE(3 * (shape.lines - shape.begin(bucket, last)), shape.lines);
        EXPECT_EQ(shape.counters(bucket, last + 1), 0);
      }
}

// More than 25 hashes divide by zero in the published code; here 1,000 of them count.
TEST(KeyFilter, TakesAnyNumberOfHashes) {
  const Admission admission = bloom(2, 1e-301, 4096);
  EXPECT_EQ(bloom_shape(admission).hashes, 1000);
  KeyFilter filter(admission, buckets_of_tests);
  EXPECT_EQ(filter.admit({{1, 1}}), Keys{});
  EXPECT_EQ(filter.admit({{1, 1}}), Keys{1});
}

// The published counters wrap around when a batch adds more than they hold.
TEST(KeyFilter, CountersSaturate) {
  for (const std::int64_t uses : {std::int64_t{256}, std::int64_t{1} << 32, std::numeric_limits<std::int64_t>::max()}) {
    KeyFilter filter(bloom(255, 0.01, 4096), buckets_of_tests);
    EXPECT_EQ(filter.admit({{1, uses}}), Keys{1});
    EXPECT_EQ(filter.admit({{1, uses}}), Keys{1});
  }
  static_assert(add_saturated(std::uint8_t{250}, 5, 255) == 255 && add_saturated(std::uint8_t{250}, 4, 255) == 254);
  static_assert(add_saturated(7U, std::numeric_limits<std::int64_t>::max(), 4294967295) == 4294967295);
}

TEST(KeyFilter, AdmitsEarlyNoMoreOftenThanAsked) {
  constexpr std::int64_t keys = 40 * key_buckets, batch = 16'384;
  constexpr double p = 0.02;
  KeyFilter filter(bloom(2, p, keys), buckets_of_tests);
  std::int64_t early = 0, beyond = 0;
  for (std::int64_t first = 0; first < 2 * keys; first += batch) {
    KeyUses once;
    for (std::int64_t key = first; key < first + batch; ++key) once[key] = 1;
    (first < keys ? early : beyond) += std::ssize(filter.admit(once));
  }
  EXPECT_LT(static_cast<double>(early), p * keys);
  EXPECT_GT(static_cast<double>(beyond), p * keys);  // so the counters are no more than they need be
  EXPECT_EQ(std::ssize(filter.layers(0)), bloom_shape(bloom(2, p, keys)).layers());
}

TEST(KeyFilter, CountsNoKeyTooFewTimesWhateverLayerItIsIn) {
  constexpr std::int64_t uses = 5;
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  KeyFilter filter(bloom(uses, 0.05, 200 * key_buckets), buckets_of_tests);
  std::vector<std::int64_t> keys;
  for (std::int64_t key = 0; std::ssize(keys) < 400; ++key)
    if (buckets_of_tests.bucket(key) < 2) keys.push_back(key);
  KeyUses counted;
  std::int64_t early = 0;
  for (std::int64_t step = 1; step < 200; ++step) {
    KeyUses batch;
    for (std::uint64_t i = random() % 20; i > 0; --i) ++batch[keys[random() % (2 * static_cast<std::uint64_t>(step))]];
    const std::vector<std::int64_t> admitted = filter.admit(batch);
    for (const auto& [key, of_key] : batch) {
      const std::int64_t all = counted[key] += of_key;
      const bool is_admitted = std::ranges::binary_search(admitted, key);
      EXPECT_TRUE(is_admitted || all < uses) << "key " << key << " in step " << step;
      EXPECT_GE(filter.counted(key), std::min(all, uses));
      early += is_admitted && all < uses ? 1 : 0;
    }
  }
  EXPECT_LT(early, 100);
  EXPECT_GT(filter.layers(0).size(), 3U);
}

TEST(KeyFilter, BeginsLayersForTheKeysThatCome) {
  const Admission admission = bloom(3, 0.01, std::int64_t{1} << 40);
  const BloomShape shape = bloom_shape(admission);
  KeyFilter filter(admission, buckets_of_tests);
  std::int64_t counted = 0, bucket = buckets_of_tests.bucket(0);
  for (std::int64_t key = 0; counted < 100; ++key) {
    if (buckets_of_tests.bucket(key) != bucket) continue;
    ++counted;
    filter.admit({{key, 1}});
    EXPECT_LE(shape.end(bucket, std::ssize(filter.layers(bucket)) - 1),
              2 * shape.first_lines + counted / 5);  // of lines of 256 counters
  }
  EXPECT_TRUE(filter.layers(bucket ^ 1).empty());
  KeyUses many;
  for (std::int64_t key = 0; std::ssize(many) < 1000; ++key)
    if (buckets_of_tests.bucket(key) == (bucket ^ 1)) many[key] = 1;
  filter.admit(many);  // at once, in the first layer that holds them
  const auto& layers = filter.layers(bucket ^ 1);
  EXPECT_GT(layers.size(), 5U);
  for (std::size_t layer = 0; layer + 1 < layers.size(); ++layer) EXPECT_TRUE(layers[layer].empty()) << layer;
  EXPECT_LE(2 * std::ranges::count_if(layers.back(), [](std::int64_t counter) { return counter > 0; }),
            std::ssize(layers.back()));
}

TEST(RowUse, Saturates) {
  RowUse use;
  use.add(1, 5'000'000'000);
  use.add(2, 1);
  EXPECT_EQ(use, (RowUse{2, 4294967295U}));
}

}  // namespace
}  // namespace shardmark::reference
