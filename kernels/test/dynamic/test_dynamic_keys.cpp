// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "kernels/dynamic/dynamic_keys.hpp"
#include "kernels/test/dynamic/hostile_keys.hpp"

namespace shardmark::kernels::test {
namespace {

constexpr RowValues initial_rows_of_keys{.seed = 11, .unit = 0x1p-7F};
constexpr std::int64_t row_dim = 3, most_slots = 20'000;
const Table table_of_keys{.name = "keys", .dim = row_dim};
constexpr KeyBuckets mix_of_table = KeyBuckets::of_table(0);

DynamicRules rules_of(std::string_view admission, std::string_view eviction, std::int64_t capacity,
                      std::int64_t expected_keys = 4096) {
  DynamicRules rules{reference::admission_named(admission), reference::eviction_named(eviction, capacity)};
  rules.admission.expected_keys = expected_keys;
  return rules;
}

/// Is the definition beside keys on all threads and on half of them, with values at their slots that say whose they
/// are.
class ModelledKeys {
 public:
  explicit ModelledKeys(const DynamicRules& rules)
      : rule_(rules, table_of_keys, 0, initial_rows_of_keys), keys_(rules, mix_of_table), half_(rules, mix_of_table) {}

  const reference::DynamicTable& rule() const { return rule_; }
  const DynamicKeys<Space>& keys() const { return keys_; }

  /// Begins a step, and compares which keys have rows and which of those are new.
  void bring(std::int64_t step, const reference::KeyUses& batch, Random& random) {
    Keys keys, uses;
    for (const auto& [key, count] : batch) keys.push_back(key);
    std::shuffle(keys.begin(), keys.end(), random);  // no order of keys within a step matters
    for (const std::int64_t key : keys) uses.push_back(batch.at(key));
    std::set<std::int64_t> before;
    for (const auto& [key, row] : rule_.rows()) before.insert(key);
    rule_.bring(step, batch);

    const auto device_keys = array_of(exec_, keys, "keys"), device_uses = array_of(exec_, uses, "uses");
    const Array<Space, std::int64_t> slots("slots", keys.size()), half_slots("slots", keys.size());
    const Keys added = host(keys_.bring(exec_, step, device_keys, device_uses, slots));
    const Space few = half_of_the_threads();
    EXPECT_EQ(host(half_.bring(few, step, device_keys, device_uses, half_slots)), added);
    const Keys found = host(slots);
    EXPECT_EQ(host(half_slots), found);
    for (const std::int64_t i : added) write(found[at(i)], rule_.read(keys[at(i)]));
    Keys expected;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const bool has_row = rule_.find(keys[i]) != nullptr;
      ASSERT_EQ(found[i] >= 0, has_row) << "key " << keys[i];
      if (!has_row) continue;
      if (!before.contains(keys[i])) expected.push_back(static_cast<std::int64_t>(i));
      ASSERT_EQ(read(found[i]), rule_.read(keys[i])) << "key " << keys[i];
    }
    EXPECT_EQ(added, expected);
  }

  /// Updates the rows that a step has brought, where find() says that they lie.
  void update(const reference::KeyUses& batch, Random& random) {
    Keys keys;
    for (const auto& [key, count] : batch) keys.push_back(key);
    const Keys slots = find(keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      reference::DynamicTable::Row* const row = rule_.find(keys[i]);
      ASSERT_EQ(row != nullptr, slots[i] >= 0) << "key " << keys[i] << " between lookup and update";
      if (row == nullptr) continue;
      for (float& value : row->values) value = 0x1p-4F * static_cast<float>(draw(random, -16, 16));
      write(slots[i], row->values);
    }
  }

  void end(std::int64_t step) {
    const auto values = array_of(exec_, values_, "values");
    const SlotRows rows{values.data(), ValueType::fp32, row_dim};
    const Keys expected = rule_.end(step);
    ASSERT_EQ(host(keys_.end(exec_, step, rows)), expected);
    ASSERT_EQ(host(half_.end(half_of_the_threads(), step, rows)), expected);
    evicted_ += std::ssize(expected);
  }

  Keys find(const Keys& keys) const {
    const Array<Space, std::int64_t> slots("slots", keys.size());
    keys_.find(exec_, array_of(exec_, keys, "keys"), slots);
    return host(slots);
  }

  /// Compares keys, values and uses, which reads change nothing of.
  void expect_equal_to_the_rule(const Keys& all) const {
    const Keys slots = find(all);
    const auto uses = host(keys_.uses());
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto row = rule_.rows().find(all[i]);
      ASSERT_EQ(slots[i] >= 0, row != rule_.rows().end()) << "key " << all[i];
      if (slots[i] < 0) continue;
      ++rows;
      EXPECT_EQ(read(slots[i]), row->second.values) << "key " << all[i];
      EXPECT_EQ(uses[at(slots[i])], row->second.use) << "key " << all[i];
    }
    EXPECT_EQ(rows, std::ssize(rule_.rows()));
    EXPECT_EQ(rows, keys_.table().keys());
  }

  std::int64_t evicted() const { return evicted_; }

 private:
  void write(std::int64_t slot, const std::vector<float>& row) {
    std::copy(row.begin(), row.end(), values_.begin() + slot * row_dim);
  }
  std::vector<float> read(std::int64_t slot) const {
    return {values_.begin() + slot * row_dim, values_.begin() + (slot + 1) * row_dim};
  }

  Space exec_;
  reference::DynamicTable rule_;
  DynamicKeys<Space> keys_, half_;
  std::vector<float> values_ = std::vector<float>(most_slots * row_dim);
  std::int64_t evicted_ = 0;
};

struct Schedule {
  const char* admission;
  const char* eviction;
  std::int64_t capacity;
  std::int64_t in_flight;  ///< steps
};

TEST(DynamicKeys, EqualTheRuleUnderRandomSchedules) {
  const std::uint64_t seed = std::random_device()();
  Random random(seed);
  const Keys all = hostile_keys(mix_of_table, 300, random);
  for (const auto& [admission, eviction, capacity, in_flight] :
       {Schedule{"all", "none", 0, 1}, Schedule{"counter:3", "lru", 4096, 1}, Schedule{"bloom:2:0.1", "lfu", 80'000, 3},
        Schedule{"bloom:300:0.1", "idle:20", 0, 2}, Schedule{"counter:2", "l2:0.75", 4096, 3},
        Schedule{"all", "idle:3", 90'000, 2}}) {
    SCOPED_TRACE(seed_line(seed) + ", " + admission + " " + eviction);
    ModelledKeys keys(rules_of(admission, eviction, capacity));
    std::deque<std::pair<std::int64_t, reference::KeyUses>> flights;
    const auto end_first = [&] {
      keys.update(flights.front().second, random);
      keys.end(flights.front().first);
      flights.pop_front();
    };
    std::int64_t step = 0;
    for (std::int64_t left = operations(24'000) / 6; left > 0;) {
      reference::KeyUses batch;
      const std::int64_t hot = draw(random, 0, std::ssize(all) - 1), size = draw(random, 0, 250);
      for (std::int64_t i = 0; i < size; ++i)
        batch[all[at((hot + draw(random, 0, 500)) % std::ssize(all))]] += draw(random, 1, 4) == 4 ? 300 : 1;
      flights.emplace_back(step += draw(random, 1, 2), batch);
      keys.bring(step, batch, random);
      if (std::ssize(flights) == in_flight) end_first();
      if (draw(random, 0, 19) == 0) keys.expect_equal_to_the_rule(all);
      if (testing::Test::HasFailure()) return;
      left -= size + 1;
    }
    while (!flights.empty()) end_first();
    keys.expect_equal_to_the_rule(all);
    EXPECT_EQ(keys.evicted() > 0, std::string_view(eviction) != "none");
  }
}

// dynamicemb: a key in the slot of an erased one inherited its frequency (issue 467 of NVIDIA/recsys-examples).
TEST(DynamicKeys, InheritNoFrequency) {
  Random random(1);
  ModelledKeys keys(rules_of("all", "lfu", 4096));
  const std::int64_t a = key_of_bits(mix_of_table, 1), b = key_of_bits(mix_of_table, 2);
  keys.bring(1, {{a, 100}}, random);
  keys.end(1);
  keys.bring(2, {{b, 200}}, random);
  keys.end(2);
  EXPECT_EQ(keys.evicted(), 1);
  keys.bring(3, {{a, 1}}, random);
  keys.expect_equal_to_the_rule({a, b});
  EXPECT_EQ(host(keys.keys().uses())[0], (RowUse{3, 1}));  // in the slot that it had
}

// The LFU cache of DeepRec, given counts, lets all new frequencies share one list; its search for the next one ends at
// the largest, and a second eviction without inserts takes from an empty list.
TEST(DynamicKeys, ShareNoFrequencyLists) {
  const Space exec;
  DynamicKeys<Space> keys(rules_of("all", "lfu", 4096), mix_of_table);
  constexpr std::int64_t count = 12;
  Keys all, victims;
  std::vector<RowUse> uses;
  for (std::int64_t i = 0; i < count; ++i) {
    all.push_back(key_of_bits(mix_of_table, static_cast<std::uint64_t>(i)));  // of a bucket that keeps one
    uses.push_back({1, static_cast<std::uint32_t>(100 * ((5 * i) % count) + 1)});
  }
  for (std::int64_t place = 0; place + 1 < count; ++place) victims.push_back(all[at((5 * place) % count)]);
  const Array<Space, std::int64_t> slots("slots", count);
  keys.put(exec, array_of(exec, all, "keys"), array_of(exec, uses, "uses"), slots);
  EXPECT_EQ(host(keys.end(exec, 2, {})), victims);
  EXPECT_EQ(host(keys.end(exec, 3, {})), Keys{});
  EXPECT_EQ(keys.table().keys(), 1);
}

// Evictions of DeepRec (issues 739, 740, 808) and FBGEMM take rows between their lookup and their update.
TEST(DynamicKeys, AreNotEvictedBetweenLookupAndUpdate) {
  Random random(3);
  ModelledKeys keys(rules_of("all", "lru", 4096));
  const std::int64_t a = key_of_bits(mix_of_table, 1), b = key_of_bits(mix_of_table, 2),
                     c = key_of_bits(mix_of_table, 3);
  keys.bring(1, {{a, 1}, {b, 1}}, random);
  keys.bring(2, {{a, 1}, {c, 1}}, random);
  const Keys looked_up = keys.find({a, c});
  keys.update({{a, 1}, {b, 1}}, random);
  keys.end(1);
  EXPECT_EQ(keys.find({a, b, c}), (Keys{looked_up[0], no_slot, looked_up[1]}));
  keys.update({{a, 1}, {c, 1}}, random);
  keys.end(2);
  keys.expect_equal_to_the_rule({a, b, c});
}

// A checkpoint's keys are what they were: of a row, a count, or neither, whatever they have been since.
TEST(DynamicKeys, BecomeWhatTheyWere) {
  const Space exec;
  DynamicKeys<Space> keys(rules_of("counter:3", "none", 0), mix_of_table);
  const auto device = [&](const auto& values) { return array_of(exec, values, "values"); };
  const Array<Space, std::int64_t> slots("slots", 3);
  keys.bring(exec, 1, device(Keys{1, 2, 3}), device(Keys{3, 2, 1}), slots);  // 1 has a row, 2 and 3 have counts
  const Array<Space, std::int64_t> one("slots", 1);
  keys.put(exec, device(Keys{2}), device(std::vector<RowUse>{{7, 9}}), one);
  keys.put_counts(exec, device(Keys{1}), device(std::vector<RowUse>{{8, 2}}));
  keys.forget(exec, device(Keys{3}));
  const Array<Space, std::int64_t> now("slots", 3);
  keys.find(exec, device(Keys{1, 2, 3}), now);
  EXPECT_EQ(host(now), (Keys{no_slot, host(one)[0], no_slot}));
  EXPECT_EQ(host(keys.uses())[at(host(one)[0])], (RowUse{7, 9}));
  EXPECT_EQ(keys.filter().counted()->keys(), 1);
  keys.bring(exec, 9, device(Keys{1, 3}), device(Keys{1, 2}), Kokkos::subview(slots, std::pair(0, 2)));
  EXPECT_GE(host(slots)[0], 0);  // whose count was 2
  EXPECT_EQ(host(slots)[1], not_admitted);
}

// HugeCTR inserts in evaluations too.
TEST(DynamicKeys, AreNotInsertedByEvaluations) {
  Random random(2);
  ModelledKeys keys(rules_of("counter:2", "lru", 4096));
  keys.bring(1, {{1, 2}, {2, 1}}, random);
  const auto before = host(keys.keys().uses());
  const std::int64_t bytes = keys.keys().table().bytes() + keys.keys().filter().bytes();
  for (int evaluation = 0; evaluation < 100; ++evaluation) EXPECT_EQ(keys.find({2, 3, 4}), Keys(3, no_slot));
  EXPECT_EQ(host(keys.keys().uses()), before);
  EXPECT_EQ(keys.keys().table().bytes() + keys.keys().filter().bytes(), bytes);
  keys.bring(2, {{2, 1}, {3, 1}}, random);  // admits 2, whose count is what it was, and not 3
  EXPECT_EQ(keys.rule().rows().size(), 2U);
}

}  // namespace
}  // namespace shardmark::kernels::test
