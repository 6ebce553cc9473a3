// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

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

// DeepRec's example, 2^30 keys of 8-byte counters at p = 0.01, takes 76.7 bytes a key.
TEST(BloomShape, HasTheDocumentedNumberOfCounters) {
  const BloomShape shape = bloom_shape(bloom(1, 0.01, std::int64_t{1} << 30));
  EXPECT_EQ(shape.hashes, 7);
  EXPECT_NEAR(static_cast<double>(shape.counters * key_buckets) * 8 / 0x1p30, 76.7, 0.05);
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
  constexpr std::int64_t keys = 40'960;
  constexpr double p = 0.02;
  KeyFilter filter(bloom(2, p, keys), buckets_of_tests);
  KeyUses once, others;
  for (std::int64_t key = 0; key < keys; ++key) once[key] = 1, others[key + keys] = 1;
  const auto early = static_cast<double>(filter.admit(once).size());
  EXPECT_LT(early, 2 * p * keys);
  EXPECT_GT(filter.admit(others).size(), early);  // so the counters are no larger than they need be
}

TEST(RowUse, Saturates) {
  RowUse use;
  use.add(1, 5'000'000'000);
  use.add(2, 1);
  EXPECT_EQ(use, (RowUse{2, 4294967295U}));
}

}  // namespace
}  // namespace shardmark::reference
