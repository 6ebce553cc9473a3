// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <numeric>

#include "kernels/dynamic/key_table.hpp"
#include "kernels/test/dynamic/hostile_keys.hpp"

namespace shardmark::kernels::test {
namespace {

constexpr KeyBuckets mix_of_keys = KeyBuckets::of_table(0);

/// Is a table with a std::map of the slots that it gave, beside the key that each slot is for.
class ModelledTable {
 public:
  explicit ModelledTable(const Space& exec = Space(), bool at_once = false)
      : exec_(exec), table_(mix_of_keys), at_once_(at_once) {}

  const KeyTable<Space>& table() const { return table_; }

  Keys find(const Keys& keys) const {
    const Array<Space, std::int64_t> slots("slots", keys.size());
    table_.find(exec_, array_of(exec_, keys, "keys"), slots);
    return host(slots);
  }

  Keys insert(const Keys& keys) {
    const Array<Space, std::int64_t> slots("slots", keys.size());
    const auto device_keys = array_of(exec_, keys, "keys");
    table_.find(exec_, device_keys, slots);
    Keys expected;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (!slots_.contains(keys[i])) expected.push_back(static_cast<std::int64_t>(i));
    EXPECT_EQ(
        host(at_once_ ? table_.find_or_insert(exec_, device_keys, slots) : table_.insert(exec_, device_keys, slots)),
        expected);
    Keys given = host(slots);
    for (const std::int64_t i : expected) {
      EXPECT_TRUE(key_of_slot_.emplace(given[at(i)], keys[at(i)]).second) << "slot " << given[at(i)] << " twice";
      slots_[keys[at(i)]] = given[at(i)];
    }
    for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(given[i], slots_.at(keys[i])) << "key " << keys[i];
    EXPECT_EQ(table_.keys(), std::ssize(slots_));
    return given;
  }

  void erase(const Keys& keys) {
    table_.erase(exec_, array_of(exec_, keys, "keys"));
    for (const std::int64_t key : keys) {
      if (!slots_.contains(key)) continue;
      key_of_slot_.erase(slots_.at(key));
      slots_.erase(key);
    }
    EXPECT_EQ(table_.keys(), std::ssize(slots_));
  }

  /// Compares what is found of these keys, and that they are all of the keys in the table.
  void expect_equal_to_the_model(const Keys& keys) const {
    const Keys found = find(keys);
    std::int64_t in_table = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto slot = slots_.find(keys[i]);
      ASSERT_EQ(found[i], slot == slots_.end() ? no_slot : slot->second) << "key " << keys[i];
      in_table += found[i] >= 0;
    }
    EXPECT_EQ(in_table, table_.keys());
    std::int64_t in_buckets = 0;
    for (std::int64_t bucket = 0; bucket < key_buckets; ++bucket) in_buckets += table_.keys_in_bucket(bucket);
    EXPECT_EQ(in_buckets, table_.keys());
  }

 private:
  Space exec_;
  KeyTable<Space> table_;
  bool at_once_;  ///< keys are found or inserted by one call
  std::map<std::int64_t, std::int64_t> slots_, key_of_slot_;
};

Keys counted_keys(std::int64_t first, std::int64_t count) {
  Keys keys(at(count));
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

TEST(KeyTable, EqualsAMapUnderRandomOperations) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed_line(seed));
  Random random(seed);
  const Keys all = hostile_keys(mix_of_keys, 300, random);
  ModelledTable table, half(half_of_the_threads(), true);
  std::int64_t left = operations(20'000);
  for (int round = 0; left > 0; ++round) {
    const std::int64_t size = std::min(draw(random, 0, 1) == 0 ? draw(random, 0, 8) : draw(random, 0, 900), left);
    Keys batch;
    std::sample(all.begin(), all.end(), std::back_inserter(batch), size, random);
    std::shuffle(batch.begin(), batch.end(), random);
    // Phases of growing and of shrinking.
    if (draw(random, 0, 9) < (round / 16 % 2 == 0 ? 7 : 3)) {
      ASSERT_EQ(table.insert(batch), half.insert(batch));
    } else {
      table.erase(batch);
      half.erase(batch);
    }
    if (round % 8 == 0) table.expect_equal_to_the_model(all);
    if (testing::Test::HasFailure()) return;
    left -= size + 1;
  }
  table.erase(all);
  table.expect_equal_to_the_model(all);
  EXPECT_EQ(table.table().keys(), 0);
}

// HugeCTR reserves keys -1 and -2, HierarchicalKV three, DeepRec's map of its SSDs two.
TEST(KeyTable, ReservesNoKey) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  const Keys keys{0, -1, -2, -3, 1, least, least + 1, most, most - 1};
  ModelledTable table;
  EXPECT_EQ(table.find(keys), Keys(keys.size(), no_slot));
  table.insert(keys);
  table.expect_equal_to_the_model(keys);
}

// FBGEMM's eviction cut keys of 64 bits to 32. These differ in the others alone, and lie in one line.
TEST(KeyTable, CutsNoKey) {
  Keys keys;
  for (std::int64_t i = 1; keys.size() < 8; ++i)
    if (mix_of_keys.bucket(i << 32) == 0) keys.push_back(i << 32);
  ModelledTable table;
  table.insert(Keys(keys.begin(), keys.begin() + 4));
  table.expect_equal_to_the_model(keys);
}

TEST(KeyBucket, IsLeftAsItWasByErasedKeys) {
  KeyLine lines[4]{};
  KeyBucket bucket{lines, 4, 0};
  for (std::int64_t key = 0; key < 16; ++key) bucket.insert(0xffffffffULL << 20, key, 7);  // from the last line on
  EXPECT_EQ(lines[3].passed(), 11U);
  EXPECT_EQ(lines[1].passed(), 1U);
  for (std::int64_t key = 15; key >= 0; --key) EXPECT_EQ(bucket.erase(0xffffffffULL << 20, (key * 5) % 16), 7U);
  for (const KeyLine& line : lines) EXPECT_EQ(line.counts, 0U);
}

/// Returns keys that all begin in one line.
Keys colliding_keys(std::uint64_t first, std::uint64_t count) {
  Keys keys;
  for (std::uint64_t i = first; i < first + count; ++i)
    keys.push_back(key_of_bits(mix_of_keys, std::uint64_t{4095} << 52 | i));
  return keys;
}

// TorchRec's MPZCH answers with a foreign row after 128 probes. These probe 400 lines.
TEST(KeyTable, GivesNoForeignRowAfterProbing) {
  ModelledTable table;
  table.insert(colliding_keys(0, 2000));
  EXPECT_EQ(table.find(colliding_keys(2000, 100)), Keys(100, no_slot));
  table.expect_equal_to_the_model(colliding_keys(0, 2000));
}

// Kokkos::UnorderedMap fails to insert while room remains.
TEST(KeyTable, HoldsKeysThatCollide) {
  const Keys keys = colliding_keys(0, 2000);
  ModelledTable table;
  table.insert(keys);
  table.expect_equal_to_the_model(keys);
  table.erase(Keys(keys.begin(), keys.begin() + 1500));
  table.expect_equal_to_the_model(keys);
}

TEST(KeyTable, GivesSlotsOfErasedKeysToLaterOnes) {
  ModelledTable table;
  table.insert(counted_keys(0, 1000));
  table.erase(counted_keys(100, 300));
  table.insert(counted_keys(5000, 300));
  EXPECT_EQ(table.table().slot_bound(), 1000);
  table.insert(counted_keys(6000, 1));
  EXPECT_EQ(table.table().slot_bound(), 1001);
}

TEST(KeyTable, TakesEmptyBatches) {
  ModelledTable table;
  EXPECT_EQ(table.find({}), Keys{});
  EXPECT_EQ(table.insert({}), Keys{});
  table.erase({});
  table.erase({1, 2});
  table.expect_equal_to_the_model({1, 2});
}

TEST(KeyTable, GrowsAPieceAtATimeAndIsNeverHalfEmpty) {
  constexpr std::int64_t batch = 20'000, keys = in_host_memory<Space> ? 1'000'000 : batch;
  constexpr std::int64_t a_piece = 2 * huge_page;  // of memory, which may be unused yet
  const Space exec;
  KeyTable<Space> table(mix_of_keys);
  const Array<Space, std::int64_t> slots("slots", batch);
  std::int64_t moved = 0;
  for (std::int64_t first = 0; first < keys; first += batch) {
    Kokkos::deep_copy(exec, slots, no_slot);
    table.insert(exec, array_of(exec, counted_keys(first, batch), "keys"), slots);
    const std::int64_t before = std::exchange(moved, table.moved_keys());
    if (first < 500'000) continue;
    EXPECT_LT(moved - before, 4 * batch) << "from " << first << " keys on";
    EXPECT_LT(table.bytes() - key_buckets * 16 - a_piece, 29 * table.keys()) << first + batch << " keys";
  }
  EXPECT_LT(moved, 3 * keys);
}

}  // namespace
}  // namespace shardmark::kernels::test
