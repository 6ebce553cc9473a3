// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "kernels/sort/shard_segments.hpp"
#include "kernels/test/bags.hpp"
#include "reference/error.hpp"

namespace shardmark::kernels::test {
namespace {

template <class View>
auto first(const View& view, std::size_t count) {
  auto values = host(view);
  values.resize(count);
  return values;
}

template <class Unique>
std::vector<std::int64_t> positions(const Unique& unique) {
  const std::uint64_t mask = (std::uint64_t{1} << unique.position_bits) - 1;
  std::vector<std::int64_t> positions;
  for (const std::uint64_t word : host(unique.words)) positions.push_back(static_cast<std::int64_t>(word & mask));
  return positions;
}

template <class Unique>
std::vector<std::int64_t> keys_of(const Unique& unique, std::int64_t count) {
  const auto words = host(unique.words);
  const auto segments = host(unique.segments);
  std::vector<std::int64_t> keys;
  for (std::int64_t u = 0; u < count; ++u)
    keys.push_back(static_cast<std::int64_t>(words[at(segments[at(u)])] >> unique.position_bits));
  return keys;
}

template <class Exec>
void expect_sorted(const std::vector<std::int64_t>& keys, std::int64_t bound, UniqueRowsWorkspace<Exec>& workspace) {
  const Exec exec;
  const auto unique = unique_rows(exec, array_of(exec, keys, "keys"), bound, workspace);
  std::vector<std::int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[at(a)] < keys[at(b)]; });
  std::vector<std::int64_t> distinct, segments;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (i == 0 || keys[at(order[i])] != distinct.back()) {
      distinct.push_back(keys[at(order[i])]);
      segments.push_back(static_cast<std::int64_t>(i));
    }
  segments.push_back(std::ssize(keys));
  EXPECT_EQ(host_count(exec, unique), std::ssize(distinct));
  EXPECT_EQ(positions(unique), order);
  EXPECT_EQ(keys_of(unique, std::ssize(distinct)), distinct);
  EXPECT_EQ(first(unique.segments, segments.size()), segments);
  const Array<Exec, std::int64_t> inverse("inverse", keys.size());
  const auto zero = array_of(exec, std::vector<std::int64_t>{0}, "zero");
  invert_unique_rows(exec, unique, zero, zero, inverse);
  for (std::size_t p = 0; const auto u : host(inverse)) ASSERT_EQ(distinct[at(u)], keys[p++]);
}

TEST(UniqueRows, HandComputed) {
  UniqueRowsWorkspace<Space> workspace;
  const Space exec;
  const auto unique =
      unique_rows(exec, array_of(exec, std::vector<std::int64_t>{7, 2, 7, 0, 2, 7}, "keys"), 8, workspace);
  EXPECT_EQ(positions(unique), (std::vector<std::int64_t>{3, 1, 4, 0, 2, 5}));
  EXPECT_EQ(first(unique.segments, 4), (std::vector<std::int64_t>{0, 1, 3, 6}));
  EXPECT_EQ(keys_of(unique, 3), (std::vector<std::int64_t>{0, 2, 7}));
}

TEST(UniqueRows, AreNumberedByShard) {
  UniqueRowsWorkspace<Space> workspace;
  const Space exec;
  const std::vector<std::int64_t> keys{7, 2, 7, 0, 2, 7}, bounds{0, 2, 4, 5, 8};  // the third shard gets no key
  const auto unique = unique_rows(exec, array_of(exec, keys, "keys"), 8, workspace);
  ShardSegments<Space> segments(bounds);
  EXPECT_EQ(segments(unique), (std::vector<std::int64_t>{0, 1, 2, 2, 3}));
  const Array<Space, std::int32_t> ids("ids", 2);
  segments.list_ids(unique, 1, ids);
  EXPECT_EQ(host(ids), (std::vector<std::int32_t>{0, 2}));
  const Array<Space, std::int64_t> numbers("numbers", keys.size());
  invert_unique_rows(exec, unique, array_of(exec, std::vector<std::int64_t>{0, 2, 4, 5}, "first_keys"),
                     array_of(exec, std::vector<std::int64_t>{0, 10, 20, 30}, "shift"), numbers);
  EXPECT_EQ(host(numbers), (std::vector<std::int64_t>{32, 11, 32, 0, 11, 32}));
}

TEST(UniqueRows, EqualsAStableSortForAnySizeAndBound) {
  UniqueRowsWorkspace<Space> workspace;
  std::uint64_t seed = 0;
  for (const std::int64_t bound : {std::int64_t{1}, std::int64_t{2}, std::int64_t{8192}, std::int64_t{8193},
                                   std::int64_t{33'762'577}, std::int64_t{1} << 40}) {
    for (const std::int64_t n : {0, 1, 2, 100, 4097, 60000}) {
      SCOPED_TRACE(seed_line(++seed) + ", bound " + std::to_string(bound) + ", n " + std::to_string(n));
      Random random(seed);
      const std::int64_t spread = seed % 2 == 0 ? bound : std::min<std::int64_t>(bound, 100);
      std::vector<std::int64_t> keys(at(n));
      for (auto& key : keys) key = bound - 1 - draw(random, 0, spread - 1);
      expect_sorted(keys, bound, workspace);
    }
  }
}

TEST(UniqueRows, AreTheSameWhereTheirShardsAreKnown) {
  UniqueRowsWorkspace<Space> workspace, of_shards;
  const Space exec;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    Random random(seed);
    const std::int64_t shards = draw(random, 1, 8 * exec.concurrency()), n = draw(random, 0, 400 * shards);
    std::vector<std::int64_t> bounds{0};  // shards of none, a few and many rows
    for (std::int64_t s = 0; s < shards; ++s)
      bounds.push_back(bounds.back() + draw(random, 0, std::int64_t{1} << draw(random, 0, 24)));
    bounds.back() = std::max<std::int64_t>(bounds.back(), 1);
    std::vector<std::int64_t> keys(at(n));
    std::vector<std::int32_t> of(at(n));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::int64_t s = draw(random, 0, seed % 3 == 0 ? 0 : shards - 1);  // of every third seed, most in one shard
      const auto rows = bounds[at(s) + 1] - bounds[at(s)];
      keys[i] = rows == 0 ? bounds.back() - 1 : bounds[at(s)] + draw(random, 0, std::min<std::int64_t>(rows, 900) - 1);
      of[i] = static_cast<std::int32_t>(std::ranges::upper_bound(bounds, keys[i]) - bounds.begin() - 1);
    }
    const auto on_device = array_of(exec, keys, "keys");
    const auto expected = unique_rows(exec, on_device, bounds.back(), workspace);
    const KeyShards<Space> known{array_of(exec, bounds, "first_keys"), array_of(exec, of, "shards")};
    const auto unique = unique_rows(exec, on_device, known, bounds.back(), of_shards);
    const std::int64_t count = host_count(exec, expected);
    ASSERT_EQ(host_count(exec, unique), count);
    EXPECT_EQ(host(unique.words), host(expected.words));
    EXPECT_EQ(first(unique.segments, at(count + 1)), first(expected.segments, at(count + 1)));
  }
}

TEST(UniqueRows, CarriesOtherNumbersInThePlaceOfPositions) {
  UniqueRowsWorkspace<Space> workspace;
  const Space exec;
  const auto unique =
      unique_rows<Space>(exec, array_of(exec, std::vector<std::int64_t>{7, 2, 7, 0}, "keys"), 8,
                         array_of(exec, std::vector<std::int64_t>{640, 64, 0, 64}, "positions"), 641, workspace);
  EXPECT_EQ(keys_of(unique, 3), (std::vector<std::int64_t>{0, 2, 7}));
  EXPECT_EQ(positions(unique), (std::vector<std::int64_t>{64, 64, 640, 0}));
}

TEST(UniqueRows, RefusesMoreThan64Bits) {
  UniqueRowsWorkspace<Space> workspace;
  const Space exec;
  const auto keys = array_of(exec, std::vector<std::int64_t>(5, 0), "keys");
  EXPECT_THROW(unique_rows(exec, keys, std::int64_t{1} << 62, workspace), InputError);
  EXPECT_NO_THROW(unique_rows(exec, keys, std::int64_t{1} << 61, workspace));
}

}  // namespace
}  // namespace shardmark::kernels::test
