// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "kernels/dynamic/key_filter.hpp"
#include "kernels/test/dynamic/hostile_keys.hpp"

namespace shardmark::kernels::test {
namespace {

constexpr KeyBuckets mix_of_counted = KeyBuckets::of_table(3);
constexpr std::array counted_buckets{std::int64_t{0}, std::int64_t{17}, key_buckets - 1};

Admission shared_counters_of(std::string_view text, std::int64_t expected_keys) {
  Admission admission = reference::admission_named(text);
  admission.expected_keys = expected_keys;
  return admission;
}

using Lines = std::map<std::int64_t, std::vector<std::uint32_t>>;  ///< words by number of the line

Lines lines_of(const reference::KeyFilter& rule, const BloomShape& shape) {
  Lines lines;
  for (const std::int64_t bucket : counted_buckets)
    for (std::int64_t layer = 0; layer < std::ssize(rule.layers(bucket)); ++layer) {
      const auto& counters = rule.layers(bucket)[at(layer)];
      for (std::int64_t c = 0; c < std::ssize(counters); ++c) {
        const std::int64_t bit = c * shape.counter_bits, line = shape.begin(bucket, layer) + bit / (8 * cache_line);
        auto& words = lines[BloomShape::line_number(bucket, line)];
        words.resize(cache_line / 4);
        words[at(bit / 32 % 16)] |= static_cast<std::uint32_t>(counters[at(c)]) << bit % 32;
      }
    }
  return lines;
}

Lines lines_of(const SharedCounters<Space>& counters) {
  const Space exec;
  const Keys numbers = counters.begun_lines();
  EXPECT_TRUE(std::ranges::is_sorted(numbers));
  const auto read = allocate<Space, CounterLine>("lines", std::ssize(numbers));
  counters.read_lines(exec, array_of(exec, numbers, "numbers"), read);
  Lines lines;
  const auto words = host(read);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    lines[numbers[i]] = {std::begin(words[i].words), std::end(words[i].words)};
  return lines;
}

void write(const Lines& lines, SharedCounters<Space>& counters) {
  const Space exec;
  Keys numbers;
  std::vector<CounterLine> written;
  for (const auto& [number, words] : lines) {
    numbers.push_back(number);
    std::ranges::copy(words, written.emplace_back().words);
  }
  counters.write_lines(exec, numbers, array_of(exec, written, "lines"));
}

/// Counts a batch of absent keys in any order. Returns those that are admitted, ascending.
Keys admitted_of(KeyFilter<Space>& filter, const Space& exec, std::int64_t step, const reference::KeyUses& batch,
                 Random& random) {
  Keys keys, uses, admitted;
  for (const auto& [key, count] : batch) keys.push_back(key);
  std::shuffle(keys.begin(), keys.end(), random);
  for (const std::int64_t key : keys) uses.push_back(batch.at(key));
  const auto slots = array_of(exec, Keys(keys.size(), no_slot), "slots");
  filter.admit(exec, step, array_of(exec, keys, "keys"), array_of(exec, uses, "uses"), slots);
  const Keys after = host(slots);
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (after[i] == no_slot) admitted.push_back(keys[i]);
  std::ranges::sort(admitted);
  return admitted;
}

TEST(SharedCounters, EqualTheDefinitionInEveryLayerAndAfterACheckpoint) {
  const std::uint64_t seed = std::random_device()();
  Random random(seed);
  const Space exec, few = half_of_the_threads();
  for (const auto& [text, keys_of_bucket, layers] :
       {std::tuple("bloom:3:0.01", 500, 5), std::tuple("bloom:1:0.5", 700, 4), std::tuple("bloom:15:1e-3", 200, 4),
        std::tuple("bloom:300:0.1", 150, 4), std::tuple("bloom:70000:0.3", 40, 2), std::tuple("bloom:2:1e-9", 1, 1)}) {
    SCOPED_TRACE(seed_line(seed) + ", " + text);
    const Admission admission = shared_counters_of(text, keys_of_bucket * key_buckets);
    const BloomShape shape = bloom_shape(admission);
    reference::KeyFilter rule(admission, mix_of_counted);
    std::optional<KeyFilter<Space>> filter(std::in_place, admission, mix_of_counted);
    KeyFilter<Space> half(admission, mix_of_counted);
    Keys all;
    for (int i = 0; i < 5 * keys_of_bucket + 60; ++i)
      all.push_back(
          key_of_bits(mix_of_counted, static_cast<std::uint64_t>(counted_buckets[at(i % 3)]) << 52 | random() >> 12));
    constexpr std::int64_t steps = 40;
    for (std::int64_t step = 1; step <= steps; ++step) {
      reference::KeyUses batch;
      const std::int64_t size = step % 10 == 0 ? 300 : draw(random, 0, 40);  // enough for all layers, whatever is drawn
      for (std::int64_t i = 0; i < size; ++i)
        batch[all[at(draw(random, 0, std::ssize(all) * step / steps - 1))]] +=
            draw(random, 1, 6) == 6 ? admission.uses : 1;
      const Keys expected = rule.admit(batch);
      ASSERT_EQ(admitted_of(*filter, exec, step, batch, random), expected) << "step " << step;
      ASSERT_EQ(admitted_of(half, few, step, batch, random), expected) << "step " << step;
      if (step % 13 != 0) continue;
      const Lines before = lines_of(filter->shared());
      ASSERT_EQ(before, lines_of(rule, shape)) << "step " << step;
      filter.emplace(admission, mix_of_counted);
      const auto middle = std::next(before.begin(), std::ssize(before) / 2);
      write(Lines(middle, before.end()), filter->shared());
      write(Lines(before.begin(), middle), filter->shared());
      ASSERT_EQ(lines_of(filter->shared()), before) << "step " << step;
    }
    EXPECT_EQ(lines_of(filter->shared()), lines_of(rule, shape));
    EXPECT_EQ(lines_of(half.shared()), lines_of(rule, shape));
    EXPECT_GE(std::ssize(rule.layers(0)), layers);
    const auto buckets = host(half.shared().buckets());
    for (std::int64_t bucket = 0; bucket < key_buckets; ++bucket)
      EXPECT_EQ(buckets[at(bucket)].last > 0, buckets[at(bucket)].layers > 0) << "bucket " << bucket;
    for (const auto bucket : counted_buckets) EXPECT_LE(buckets[at(bucket)].last, steps);
  }
}

TEST(SharedCounters, TakeAFewBytesForEachKeyThatCameHoweverManyAreExpected) {
  constexpr std::int64_t batch = 8'192, batches = in_host_memory<Space> ? 40 : 1;
  const Space exec;
  Random random(1);
  KeyFilter<Space> filter(shared_counters_of("bloom:3:0.01", std::int64_t{1} << 32), mix_of_counted);
  EXPECT_LT(filter.bytes(), 20 * key_buckets);
  for (std::int64_t keys = batch; keys <= batches * batch; keys += batch) {
    reference::KeyUses once;
    for (std::int64_t i = 0; i < batch; ++i) once[static_cast<std::int64_t>(random())] = 1;
    EXPECT_LT(admitted_of(filter, exec, keys, once, random).size(), 10U);
    if (keys < 100'000) continue;
    EXPECT_LT(filter.bytes(), 12 * keys) << keys << " keys";
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
