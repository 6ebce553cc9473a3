// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "kernels/route/bucketize.hpp"
#include "kernels/test/bags.hpp"

namespace shardmark::kernels::test {
namespace {

/// Features of few and many rows, each split in its own way; slots in strip order.
struct Problem {
  std::int64_t samples = 0;
  HostBags bags;
  RowPartition partition;
  std::vector<std::vector<OwnedRows>> strip_shards;
  std::vector<std::int64_t> strip_features;
  std::int64_t slots = 0;
  std::int64_t strip_ids = 0;

  void add_strip(std::int64_t feature, std::int64_t rows, std::vector<OwnedRows> shards) {
    for (auto& shard : shards) shard.slot = slots++;
    partition.add_strip(feature, rows, shards);
    strip_shards.push_back(shards);
    strip_features.push_back(feature);
    strip_ids += bags.offsets[at((feature + 1) * samples)] - bags.offsets[at(feature * samples)];
  }
};

std::vector<OwnedRows> modulo(std::int64_t rows, std::int64_t n) {
  std::vector<OwnedRows> shards;
  for (std::int64_t k = 0; k < n; ++k) shards.push_back({k, rows, n, 0});
  return shards;
}

std::vector<OwnedRows> blocks(std::int64_t rows, std::int64_t n) {
  std::vector<OwnedRows> shards;
  for (std::int64_t k = 0; k < n; ++k) shards.push_back({rows * k / n, rows * (k + 1) / n, 1, 0});
  return shards;
}

/// parts: whether the strips are split by rows.
Problem random_problem(std::uint64_t seed, bool parts = true) {
  Random random(seed);
  Problem problem;
  problem.samples = draw(random, 1, seed % 4 == 0 ? 2000 : 60);  // of many ranges of bags, or one
  const std::int64_t features = draw(random, 1, 6);
  std::vector<std::int64_t> rows;
  for (std::int64_t f = 0; f < features; ++f) {
    rows.push_back(draw(random, 1, f % 2 == 0 ? 4 : 1000));
    problem.bags.add_random(random, problem.samples, rows.back(), 3);
  }
  if (seed % 2 == 0) problem.bags.add_weights(random);
  for (std::int64_t f = 0; f < features; ++f)
    for (std::int64_t columns = draw(random, 1, 2); columns > 0; --columns) {
      const std::int64_t n = parts ? draw(random, 1, seed % 8 == 4 ? 40 : 5) : 1;
      problem.add_strip(f, rows[at(f)], draw(random, 0, 1) == 0 ? modulo(rows[at(f)], n) : blocks(rows[at(f)], n));
    }
  return problem;
}

struct Result {
  std::vector<std::int64_t> lengths, ids, slot_counts;
  std::vector<float> weights;
  bool operator==(const Result&) const = default;
};

/// Slot after slot, sample after sample, id after id.
Result expected(const Problem& problem) {
  Result result;
  for (std::size_t strip = 0; strip < problem.strip_shards.size(); ++strip)
    for (const auto& shard : problem.strip_shards[strip]) {
      const auto before = std::ssize(result.ids);
      for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
        const auto bag = problem.strip_features[strip] * problem.samples + sample;
        const auto bag_before = std::ssize(result.ids);
        for (auto i = problem.bags.offsets[at(bag)]; i < problem.bags.offsets[at(bag + 1)]; ++i) {
          const auto row = problem.bags.indices[at(i)];
          if (row < shard.begin || row >= shard.end || (row - shard.begin) % shard.stride != 0) continue;
          result.ids.push_back((row - shard.begin) / shard.stride);
          if (!problem.bags.weights.empty()) result.weights.push_back(problem.bags.weights[at(i)]);
        }
        result.lengths.push_back(std::ssize(result.ids) - bag_before);
      }
      result.slot_counts.push_back(std::ssize(result.ids) - before);
    }
  return result;
}

template <class Types>
Result bucketized(const Problem& problem, BucketizeWorkspace<typename Types::Exec>& workspace) {
  using Exec = typename Types::Exec;
  using Index = typename Types::Index;
  const Exec exec;
  const auto features = (std::ssize(problem.bags.offsets) - 1) / problem.samples;
  std::vector<std::int64_t> feature_bags;
  for (std::int64_t f = 0; f <= features; ++f) feature_bags.push_back(f * problem.samples);
  const Bags<Exec, std::int64_t> bags{
      array_of(exec, feature_bags, "first_bag"), array_of(exec, problem.bags.offsets, "offsets"),
      array_of(exec, problem.bags.indices, "indices"), array_of(exec, problem.bags.weights, "weights")};
  std::vector<std::int64_t> first_bag(at(problem.slots));
  for (std::size_t slot = 0; slot < first_bag.size(); ++slot)
    first_bag[slot] = static_cast<std::int64_t>(slot) * problem.samples;
  const Buckets<Exec, std::int32_t, Index> out{
      array_of(exec, first_bag, "first_bag"), Array<Exec, std::int32_t>("lengths", at(problem.slots * problem.samples)),
      Array<Exec, Index>("ids", at(problem.strip_ids)),
      Array<Exec, float>("weights", problem.bags.weights.empty() ? 0 : at(problem.strip_ids))};
  const Array<Exec, std::int64_t> slot_counts("slot_counts", at(problem.slots));
  KnownStrips known{{}, {}, problem.partition.only_slots()};
  for (const std::int64_t feature : problem.strip_features) {
    const std::int64_t first = feature * problem.samples;
    known.bags.push_back(problem.samples);
    known.ids.push_back(problem.bags.offsets[at(first + problem.samples)] - problem.bags.offsets[at(first)]);
  }
  const bool counted = bucketize(exec, row_owners(exec, problem.partition), bags, out, slot_counts, workspace, known);
  EXPECT_EQ(counted, !on_device<Exec> || known.slots.empty());
  std::vector<std::int64_t> counts = host(slot_counts);
  if (!counted)
    for (std::size_t strip = 0; strip < known.slots.size(); ++strip) counts[at(known.slots[strip])] = known.ids[strip];
  const auto lengths = host(out.lengths);
  const auto ids = host(out.ids);
  return {{lengths.begin(), lengths.end()}, {ids.begin(), ids.end()}, counts, host(out.weights)};
}

template <class Types>
class BucketizeTest : public testing::Test {};
TYPED_TEST_SUITE(BucketizeTest, IndexTypes);

TYPED_TEST(BucketizeTest, HandComputed) {
  Problem problem;
  problem.samples = 2;
  problem.bags.add({4, 1, 0, 4});
  problem.bags.add({2});
  problem.bags.weights = {1, 2, 3, 4, 5};
  problem.add_strip(0, 5, modulo(5, 2));
  BucketizeWorkspace<typename TypeParam::Exec> workspace;
  const auto result = bucketized<TypeParam>(problem, workspace);
  EXPECT_EQ(result.lengths, (std::vector<std::int64_t>{3, 1, 1, 0}));
  EXPECT_EQ(result.ids, (std::vector<std::int64_t>{2, 0, 2, 1, 0}));
  EXPECT_EQ(result.weights, (std::vector<float>{1, 3, 4, 5, 2}));
  EXPECT_EQ(result.slot_counts, (std::vector<std::int64_t>{4, 1}));
}

TYPED_TEST(BucketizeTest, EqualsTheSlotBySlotDefinition) {
  BucketizeWorkspace<typename TypeParam::Exec> workspace;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed_line(seed));
    const auto problem = random_problem(seed);
    EXPECT_EQ(bucketized<TypeParam>(problem, workspace), expected(problem));
    const auto whole = random_problem(seed, false);
    EXPECT_EQ(std::ssize(whole.partition.only_slots()), whole.slots);
    EXPECT_EQ(bucketized<TypeParam>(whole, workspace), expected(whole));
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
