// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "kernels/sort/shard_keys.hpp"
#include "kernels/test/update_problem.hpp"
#include "kernels/update/summed_gradients.hpp"

namespace shardmark::kernels::test {
namespace {

/// Two sources with bags of no, one and several ids in shards of few and of many rows, one of them without ids, given
/// in the order (source, shard). Some gradients are 0, of either sign.
struct SortProblem {
  std::vector<GradientBlock> blocks, by_shard;
  std::vector<ShardBlocks> shards;
  std::vector<std::int64_t> offsets{0}, indices;
  std::vector<float> gradients;
  std::int64_t key_bound = 0;

  explicit SortProblem(std::uint64_t seed) {
    Random random(seed);
    for (const std::int64_t rows : {3, 1, 5000, 40, 700, 30'000'000}) {
      shards.push_back({.first_key = key_bound, .rows = rows, .dim = rows == 700 ? 20 : rows == 3 ? 16 : 8});
      key_bound += rows;
    }
    for (int source = 0; source < 2; ++source)
      for (const ShardBlocks& shard : shards) add_block(random, shard);
    for (ShardBlocks& shard : shards) {
      shard.first_block = std::ssize(by_shard);
      for (const GradientBlock& block : blocks)
        if (block.first_key == shard.first_key) by_shard.push_back(block);
      shard.blocks = std::ssize(by_shard) - shard.first_block;
    }
  }

  void add_block(Random& random, const ShardBlocks& shard) {
    GradientBlock block{.first_bag = std::ssize(offsets) - 1,
                        .bags = draw(random, 0, 3000),
                        .first_key = shard.first_key,
                        .gradient = std::ssize(gradients),
                        .gradient_stride = shard.dim};
    for (std::int64_t bag = 0; bag < block.bags; ++bag) {
      const std::int64_t ids = shard.rows == 40 ? 0 : draw(random, 0, 2);
      for (std::int64_t i = 0; i < ids; ++i) indices.push_back(draw(random, 0, shard.rows - 1));
      offsets.push_back(std::ssize(indices));
    }
    for (std::int64_t i = 0; i < shard.dim * block.bags; ++i) gradients.push_back(gradient(random));
    blocks.push_back(block);
  }

  static float gradient(Random& random) {
    const auto number = static_cast<float>(draw(random, -20, 20));
    return number < -18 ? -0.0F : number / 7.0F;
  }

  /// Places for the sums of all shards but the one of most rows, from `begin` on: where they end.
  std::int64_t place_sums(std::int64_t begin) {
    for (ShardBlocks& shard : shards) {
      if (shard.rows > 5000) continue;
      shard.sums = begin;
      shard.pieces = begin + shard.rows * shard.dim;
      begin += 2 * shard.rows * shard.dim;
    }
    return begin;
  }

  /// By sort_shards: the distinct rows, and the gradients that their positions are places of. few: absent, if the sums
  /// lie among these.
  template <class Exec>
  RowGradients<Exec> run(const Exec& exec, UniqueRowsWorkspace<Exec>& workspace, const FewRowSums<Exec>* few = nullptr,
                         const ConstArray<Exec, std::uint64_t>& placed = {}) const {
    const Array<Exec, float> values = array_of(exec, gradients, "gradients");
    return {
        sort_shards<Exec>(exec, array_of(exec, shards, "shards"), array_of(exec, by_shard, "blocks"),
                          array_of(exec, offsets, "offsets"), array_of(exec, indices, "indices"), std::ssize(indices),
                          key_bound, values, few ? *few : FewRowSums<Exec>{values, values, {}}, workspace, placed),
        {},
        {},
        values};
  }
};

/// Keys and gradients of the distinct rows.
template <class Exec>
std::pair<std::vector<std::int64_t>, std::vector<std::uint32_t>> summed(
    const Exec& exec, const SortProblem& problem, const ConstArray<Exec, std::uint64_t>& placed = {}) {
  UniqueRowsWorkspace<Exec> workspace;
  SummedGradientsWorkspace<Exec> sums;
  std::vector<GradientShard> shards;
  for (const ShardBlocks& shard : problem.shards) shards.push_back({shard.first_key, shard.dim});
  const auto rows = problem.run<Exec>(exec, workspace, nullptr, placed);
  const auto list = shard_list(exec, shards);
  const auto all = summed_gradients<Exec>(exec, rows, problem.key_bound, list, sums);
  const auto words = host(all.unique.words);
  const auto values = host(all.gradients);
  std::vector<std::int64_t> keys;
  std::vector<std::uint32_t> bits;
  for (std::int64_t u = 0; u < host_count(exec, rows.unique); ++u) {
    keys.push_back(static_cast<std::int64_t>(words[at(u)] >> all.unique.position_bits));
    const auto after = std::ranges::upper_bound(shards, keys.back(), {}, &GradientShard::first_key);
    for (std::int64_t c = 0; c < (after - 1)->dim; ++c)
      bits.push_back(std::bit_cast<std::uint32_t>(values[at(u * list.largest_dim + c)]));
  }
  return {keys, bits};
}

template <class Types>
class ShardSortTest : public testing::Test {
  void SetUp() override {
    if (!Kokkos::SpaceAccessibility<Kokkos::HostSpace, Space::memory_space>::accessible)
      GTEST_SKIP() << "a device sorts the ids of all shards at once";
  }
};
TYPED_TEST_SUITE(ShardSortTest, IndexTypes);

TYPED_TEST(ShardSortTest, GivesWhatTheSortOfAllExpandedPositionsGives) {
  using Exec = typename TypeParam::Exec;
  const Exec exec;
  for (std::uint64_t seed = 80; seed < 84; ++seed) {
    const SortProblem problem(seed);
    const std::int64_t ids = std::ssize(problem.indices);
    const ConstArray<Exec, std::int64_t> offsets = array_of(exec, problem.offsets, "offsets"),
                                         indices = array_of(exec, problem.indices, "indices");
    const Array<Exec, std::int64_t> keys("keys", at(ids)), places("places", at(ids));
    expand_positions(exec, ConstArray<Exec, GradientBlock>(array_of(exec, problem.blocks, "blocks")), offsets, indices,
                     keys, places);
    UniqueRowsWorkspace<Exec> of_all;
    const auto expected =
        unique_rows<Exec>(exec, keys, problem.key_bound, places, std::ssize(problem.gradients), of_all);
    UniqueRowsWorkspace<Exec> workspace;
    const auto got = problem.run(exec, workspace).unique;
    EXPECT_EQ(got.position_bits, expected.position_bits);
    EXPECT_EQ(host(got.words), host(expected.words));
    const std::int64_t rows = host_count(exec, expected);
    ASSERT_EQ(host_count(exec, got), rows);
    const auto begins = host(got.segments), expected_begins = host(expected.segments);
    for (std::int64_t u = 0; u <= rows; ++u) ASSERT_EQ(begins[at(u)], expected_begins[at(u)]);
  }
}

TYPED_TEST(ShardSortTest, ExpandsTheLaterBagsAlone) {
  using Exec = typename TypeParam::Exec;
  const Exec exec;
  const SortProblem problem(88);
  const ConstArray<Exec, std::int64_t> offsets = array_of(exec, problem.offsets, "offsets"),
                                       indices = array_of(exec, problem.indices, "indices");
  const ConstArray<Exec, GradientBlock> blocks = array_of(exec, problem.blocks, "blocks");
  const std::size_t ids = problem.indices.size();
  const auto expanded = [&](const LaterBags& from) {
    const Array<Exec, std::int64_t> keys("keys", ids), places("places", ids);
    Kokkos::deep_copy(keys, -1);
    Kokkos::deep_copy(places, -1);
    expand_positions(exec, blocks, offsets, indices, keys, places, from);
    return std::pair(host(keys), host(places));
  };
  const auto all = expanded({});
  for (const GradientBlock& first : problem.blocks) {
    auto expected = all;
    const std::int64_t position = problem.offsets[at(first.first_bag)];
    for (auto* values : {&expected.first, &expected.second}) std::fill_n(values->begin(), position, -1);
    EXPECT_EQ(expanded({first.first_bag, position}), expected) << first.first_bag;
  }
}

TYPED_TEST(ShardSortTest, AddsTheGradientsOfFewRowsWithTheBitsOfTheSort) {
  using Exec = typename TypeParam::Exec;
  const Exec exec;
  for (std::uint64_t seed = 84; seed < 88; ++seed) {
    SCOPED_TRACE(seed);
    SortProblem problem(seed);
    const auto sorted = summed(exec, problem);
    problem.gradients.resize(at(problem.place_sums(std::ssize(problem.gradients))));
    UniqueRowsWorkspace<Exec> workspace;
    EXPECT_LT(problem.run(exec, workspace).unique.positions(), std::ssize(problem.indices));
    const auto added = summed(exec, problem);
    EXPECT_EQ(added.first, sorted.first);
    EXPECT_EQ(added.second, sorted.second);
  }
}

/// Listed or apart, the sums are the same; of a listed one a device makes 0 + sum, which takes the sign of -0.
TYPED_TEST(ShardSortTest, AddsFewRowsApartAsThoseThatAreListed) {
  using Exec = typename TypeParam::Exec;
  const Exec exec;
  for (std::uint64_t seed = 92; seed < 96; ++seed) {
    SCOPED_TRACE(seed);
    SortProblem problem(seed);
    const auto [keys, bits] = summed(exec, problem);
    const auto room = at(problem.place_sums(0));
    const std::size_t few_keys = at(problem.shards.back().first_key);
    const FewRowSums<Exec> few{Array<Exec, float>("sums", room), Array<Exec, float>("pieces", room),
                               Array<Exec, float>("used", few_keys)};
    for (const auto& values : std::array{few.sums, few.pieces, few.used}) Kokkos::deep_copy(values, 77.0F);
    UniqueRowsWorkspace<Exec> workspace;
    const auto apart = problem.run(exec, workspace, &few).unique;
    const auto words = host(apart.words);
    const auto sums = host(few.sums), used = host(few.used);
    const std::int64_t listed = host_count(exec, apart);
    std::size_t bit = 0;
    std::int64_t added = 0;
    for (const std::int64_t key : keys) {
      const auto after = std::ranges::upper_bound(problem.shards, key, {}, &ShardBlocks::first_key);
      const ShardBlocks& shard = *(after - 1);
      const std::size_t first = bit;
      bit += at(shard.dim);
      if (shard.rows > 5000) continue;
      if (used[at(key)] != 1.0F) continue;  // fewer ids than rows: sorted
      ++added;
      for (std::int64_t c = 0; c < shard.dim; ++c)
        EXPECT_EQ(sums[at(shard.sums + (key - shard.first_key) * shard.dim + c)],
                  std::bit_cast<float>(bits[first + at(c)]));
    }
    EXPECT_EQ(added + listed, std::ssize(keys));
    EXPECT_GT(added, 0);
    for (const ShardBlocks& shard : problem.shards)
      for (std::int64_t row = 0; shard.rows <= 5000 && row < shard.rows; ++row)
        if (used[at(shard.first_key + row)] == 0.0F) {
          EXPECT_FALSE(std::ranges::binary_search(keys, shard.first_key + row));
          for (std::int64_t c = 0; c < shard.dim; ++c) EXPECT_EQ(sums[at(shard.sums + row * shard.dim + c)], 0.0F);
        }
  }
}

/// Returns the bits of each row of summed(), by its key; the key of a row that was listed twice is -1.
template <class Exec>
std::map<std::int64_t, std::vector<std::uint32_t>> sums_by_key(const Exec& exec, const SortProblem& problem,
                                                               const ConstArray<Exec, std::uint64_t>& placed = {}) {
  const auto [keys, bits] = summed(exec, problem, placed);
  std::map<std::int64_t, std::vector<std::uint32_t>> sums;
  auto bit = bits.begin();
  for (const std::int64_t key : keys) {
    const auto after = std::ranges::upper_bound(problem.shards, key, {}, &ShardBlocks::first_key);
    const auto end = bit + (after - 1)->dim;
    sums[sums.contains(key) ? -1 : key] = {bit, end};
    bit = end;
  }
  return sums;
}

/// Ids of some shards are keys. Places go down as keys go up, and where `shared`, every fifth key has the last one.
struct KeyProblem {
  SortProblem problem;
  bool shared;

  KeyProblem(std::uint64_t seed, bool adds, bool share) : problem(seed), shared(share) {
    if (adds) problem.gradients.resize(at(problem.place_sums(std::ssize(problem.gradients))));
    for (ShardBlocks& shard : problem.shards)
      if (shard.rows != 700) shard.keys = shard.rows;
  }
  std::int64_t place(const ShardBlocks& shard, std::int64_t key) const {
    return shard.rows - 1 - (shared && key % 5 == 0 ? 0 : key);
  }
  /// Returns the distinct keys of a shard, and sets ids of keys to their places.
  std::set<std::int64_t> take_places(const ShardBlocks& shard) {
    std::set<std::int64_t> keys;
    for (const GradientBlock& block : problem.blocks)
      for (std::int64_t i = problem.offsets[at(block.first_bag)];
           block.first_key == shard.first_key && i < problem.offsets[at(block.first_bag + block.bags)]; ++i) {
        std::int64_t& id = problem.indices[at(i)];
        keys.insert(id);
        id = place(shard, id);
      }
    return keys;
  }
};

TYPED_TEST(ShardSortTest, FindsKeysOnceForTheirPlacesAndForTheSumsOfTheirGradients) {
  using Exec = typename TypeParam::Exec;
  const Exec exec;
  for (std::uint64_t seed = 96; seed < 104; ++seed) {
    KeyProblem keyed(seed, seed % 2 == 1, seed % 4 > 1);
    SortProblem& problem = keyed.problem;
    const auto ids = array_of(exec, problem.indices, "ids");
    ShardKeysWorkspace<Exec> workspace;
    const auto found = find_shard_keys<Exec>(
        exec, array_of(exec, problem.shards, "shards"), array_of(exec, problem.by_shard, "blocks"),
        array_of(exec, problem.offsets, "offsets"), ids, std::ssize(problem.indices), problem.key_bound,
        array_of(exec, problem.gradients, "gradients"), workspace);
    exec.fence();
    for (std::int64_t s = 0; s < std::ssize(problem.shards); ++s) {
      const ShardBlocks& shard = problem.shards[at(s)];
      if (shard.keys == 0) {
        EXPECT_EQ(found.counts(s), 0);
        continue;
      }
      const std::int64_t* const keys = &found.keys(found.first_id(s));
      const auto expected = keyed.take_places(shard);
      EXPECT_EQ(std::vector(keys, keys + found.counts(s)), std::vector(expected.begin(), expected.end()));
      for (std::int64_t u = 0; u < found.counts(s); ++u)
        found.places(found.first_id(s) + u) = keyed.place(shard, keys[u]);
    }
    const auto placed = place_keys<Exec>(exec, found);
    EXPECT_EQ(host(ids), problem.indices);
    auto got = sums_by_key(exec, problem, placed);
    for (ShardBlocks& shard : problem.shards) shard.keys = 0;
    auto expected = sums_by_key(exec, problem);
    for (const ShardBlocks& shard : problem.shards)
      if (keyed.shared && got.contains(shard.first_key + shard.rows - 1))  // in another order
        got[shard.first_key + shard.rows - 1] = expected[shard.first_key + shard.rows - 1];
    EXPECT_EQ(got, expected);
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
