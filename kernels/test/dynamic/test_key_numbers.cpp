// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "kernels/dynamic/key_numbers.hpp"
#include "kernels/test/dynamic/hostile_keys.hpp"

namespace shardmark::kernels::test {
namespace {

/// Numbers the keys of tags from 0 on by their first positions.
TEST(KeyNumbers, FollowTheFirstPositionsOfAnyKeysOnAnyThreads) {
  Random random(5);
  const Keys hostile = hostile_keys({77}, 100, random);
  KeyNumbers<Space> all, few;
  for (const std::int64_t n : {0, 1, 40, 5000, 700}) {
    std::vector<std::int32_t> tags;
    Keys keys, distinct, expected;
    std::map<std::pair<std::int32_t, std::int64_t>, std::int64_t> numbers;
    for (std::int64_t k = 0; k < n; ++k) {
      tags.push_back(static_cast<std::int32_t>(random() % 4) - 1);
      keys.push_back(hostile[random() % hostile.size()]);
      const auto [number, is_new] = numbers.try_emplace({tags.back(), keys.back()}, std::ssize(distinct));
      if (tags.back() < 0) numbers.erase(number);
      expected.push_back(tags.back() < 0 ? -1 : number->second);
      if (tags.back() >= 0 && is_new) distinct.push_back(keys.back());
    }
    const auto given = array_of(Space(), keys, "keys");
    const auto of_tags = array_of(Space(), tags, "tags");
    for (KeyNumbers<Space>* of : {&all, &few}) {
      EXPECT_EQ(of->find(of == &all ? Space() : half_of_the_threads(), of_tags, given), std::ssize(distinct));
      EXPECT_EQ(host(of->distinct()), distinct);
      Keys found = host(of->numbers());
      for (std::size_t k = 0; k < found.size(); ++k)
        if (tags[k] < 0) found[k] = -1;
      EXPECT_EQ(found, expected);
    }
  }
}

/// Two shards of keys with blocks that alternate, one of rows between them, and one without ids.
TEST(KeyNumbers, OfAShardAreConsecutive) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::vector<std::int64_t> offsets{0, 2, 2, 3, 5, 6}, ids{7, least, 7, 1, 1, -1};
  const auto block = [](std::int64_t bag) { return GradientBlock{.first_bag = bag, .bags = 1}; };
  const std::vector<GradientBlock> blocks{block(0), block(4), block(3), block(1), block(2)};
  const auto shard = [](std::int64_t first, std::int64_t count, std::int64_t keys) {
    return ShardBlocks{.first_block = first, .blocks = count, .keys = keys};
  };
  const std::vector<ShardBlocks> shards{shard(0, 2, ShardBlocks::any_keys), shard(2, 1, 0),
                                        shard(3, 1, ShardBlocks::any_keys), shard(4, 1, 10)};
  KeyNumbers<Space> numbers;
  std::vector<std::int64_t> begins;
  const Array<Space, std::int64_t> given = array_of(Space(), ids, "ids");
  numbers.find_in_shards(Space(), array_of(Space(), shards, "shards"), array_of(Space(), blocks, "blocks"),
                         array_of(Space(), offsets, "offsets"), given, std::ssize(ids), begins);
  EXPECT_EQ(begins, (std::vector<std::int64_t>{0, 3, 3, 3, 4}));
  EXPECT_EQ(host(numbers.distinct()), (Keys{7, least, -1, 7}));
  numbers.place(Space(), array_of(Space(), Keys{100, 101, 102, 103}, "places"), given);
  EXPECT_EQ(host(given), (Keys{100, 101, 103, 1, 1, 102}));
}

}  // namespace
}  // namespace shardmark::kernels::test
