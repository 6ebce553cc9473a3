// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "comm/placement/test/random_step.hpp"

namespace shardmark::placement {
namespace {

ByteMatrix matrix(std::initializer_list<std::initializer_list<std::int64_t>> rows) {
  ByteMatrix result(static_cast<int>(rows.size()));
  int from = 0;
  for (const auto& row : rows) {
    int to = 0;
    for (const std::int64_t bytes : row) result.add(from, to++, bytes);
    ++from;
  }
  return result;
}

/// Two ranks: rank 0 has samples with ids {0, 1, 1} and {}, rank 1 one sample with {3}. What the set-based count says,
/// which must be what the model says.
struct TwoRanks {
  std::vector<Table> tables{{.name = "t", .rows = 4, .dim = 6}};
  std::vector<Feature> features{{.name = "f", .table = 0, .pooling = Pooling::sum, .hotness = 1}};
  std::vector<Batch> homes{{.samples = 2, .features = 1, .offsets = {0, 3, 3}, .indices = {0, 1, 1}, .weights = {}},
                           {.samples = 1, .features = 1, .offsets = {0, 1}, .indices = {3}, .weights = {}}};

  Traffic operator()(std::vector<Shard> shards, const Movement& rules = {}, std::int64_t hot_rows = 0) const {
    const Plan plan{
        .name = "p", .ranks = 2, .tables = {{.data_parallel = shards.empty(), .shards = shards, .hot_rows = hot_rows}}};
    const Traffic traffic = predict_traffic(plan, tables, features, homes, rules);
    EXPECT_EQ(traffic, of_model(plan, rules));
    return traffic;
  }

  Traffic of_model(const Plan& plan, const Movement& rules) const {
    const bool weighted = !homes[0].weights.empty();
    const MovedPlan moved{plan, tables, features, rules, weighted};
    TrafficModel model(moved, DecisionBytes(moved).decide());
    for (int r = 0; r < 2; ++r) model.add_home(r, counts_of(plan, tables, features, homes[r]));
    model.add_all(counts_together(plan, tables, features, homes, {0, 1}));
    return model.traffic();
  }
};

TEST(Traffic, OfAWholeTable) {
  const Traffic traffic = TwoRanks()({{{0, 4, 1}, 0, 6, 1}});
  EXPECT_EQ(traffic.input_dist, matrix({{0, 2 * 4 + 3 * 4}, {0, 0}}));
  EXPECT_EQ(traffic.output_dist, matrix({{0, 0}, {2 * 6 * 4, 0}}));
  EXPECT_EQ(traffic.grad_dist, matrix({{0, 2 * 6 * 4}, {0, 0}}));
  EXPECT_EQ(traffic.update, ByteMatrix(2));
}

TEST(Traffic, OfRowsModuloTwo) {
  const std::vector<Shard> shards{{{0, 4, 2}, 0, 6, 0}, {{1, 4, 2}, 0, 6, 1}};
  const Traffic dense = TwoRanks()(shards);
  EXPECT_EQ(dense.input_dist, matrix({{0, 2 * 4 + 2 * 4}, {1 * 4, 0}}));
  EXPECT_EQ(dense.output_dist, matrix({{0, 1 * 6 * 4}, {2 * 6 * 4, 0}}));
  EXPECT_EQ(dense.grad_dist, matrix({{0, 2 * 6 * 4}, {1 * 6 * 4, 0}}));
  EXPECT_EQ(TwoRanks()(shards, {RowTransfer::reduce_scatter}), dense);
  const Traffic sparse = TwoRanks()(shards, {RowTransfer::sparse_partials});
  EXPECT_EQ(sparse.input_dist, dense.input_dist);
  EXPECT_EQ(sparse.output_dist, matrix({{0, 0}, {1 * 6 * 4, 0}}));
  EXPECT_EQ(sparse.grad_dist, matrix({{0, 1 * 6 * 4}, {0, 0}}));
}

TEST(Traffic, OfWeightsAndOfBagsPerId) {
  TwoRanks two;
  two.homes[0].weights = {1, 2, 3};
  two.features[0].pooling = Pooling::none;
  const Traffic traffic = two({{{0, 4, 1}, 0, 6, 0}});
  EXPECT_EQ(traffic.input_dist, matrix({{0, 0}, {1 * 4 + 1 * 8, 0}}));
  EXPECT_EQ(two({{{0, 4, 1}, 0, 6, 1}}).output_dist, matrix({{0, 0}, {3 * 6 * 4, 0}}));
}

/// Rank 0 has segments {0}, {1, 1} and {} in sample 0 and none in sample 1.
TEST(Traffic, OfBagsPerSegment) {
  TwoRanks two;
  two.features[0].segments = 2;
  two.features[0].segment_rank = 1;
  two.homes[0].first_segment = {0, 3, 3};
  two.homes[0].segment_offsets = {0, 1, 3, 3};
  two.homes[1].first_segment = two.homes[1].segment_offsets = {0, 1};
  const std::vector<Shard> shards{{{0, 4, 2}, 0, 6, 0}, {{1, 4, 2}, 0, 6, 1}};
  const Traffic dense = two(shards);
  EXPECT_EQ(dense.input_dist, matrix({{0, 3 * 4 + 2 * 4}, {1 * 4, 0}}));
  EXPECT_EQ(dense.output_dist, matrix({{0, 1 * 6 * 4}, {3 * 6 * 4, 0}}));
  EXPECT_EQ(two(shards, {RowTransfer::sparse_partials}).output_dist, matrix({{0, 0}, {1 * 6 * 4, 0}}));
}

TEST(Traffic, OfWideIds) {
  TwoRanks two;
  const std::vector<Shard> shards{{{0, 4, 2}, 0, 6, 0}, {{1, 4, 2}, 0, 6, 1}};
  EXPECT_EQ(two(shards, {.wire_ids = WireIds::int64}).input_dist, matrix({{0, 2 * 4 + 2 * 8}, {1 * 4, 0}}));
  const auto of_rows = [&](WireIds ids) {
    return two(shards, {.transfer = RowTransfer::unique_rows, .wire_ids = ids}).input_dist;
  };
  EXPECT_EQ(of_rows(WireIds::automatic), matrix({{0, 8 + 1 * 4}, {8, 0}}));
  EXPECT_EQ(of_rows(WireIds::int64), matrix({{0, 8 + 1 * 8}, {8, 0}}));
  two.tables[0].rows = (std::int64_t{1} << 31) + 1;
  EXPECT_EQ(two({{{0, two.tables[0].rows, 1}, 0, 6, 1}}).input_dist, matrix({{0, 2 * 4 + 3 * 8}, {0, 0}}));
}

TEST(Traffic, OfSumsOverWholeRows) {
  TwoRanks two;
  two.tables[0].optimizer.kind = OptimizerKind::lamb;
  const Traffic traffic = two({{{0, 4, 1}, 0, 2, 0}, {{0, 4, 1}, 2, 6, 1}});
  EXPECT_EQ(traffic.update, matrix({{0, 3 * 2 * 8}, {3 * 2 * 8, 0}}));
  EXPECT_EQ(traffic.output_dist, matrix({{0, 1 * 2 * 4}, {2 * 4 * 4, 0}}));
}

TEST(Traffic, OfReplicatedTables) {
  const Traffic traffic = TwoRanks()({});
  EXPECT_EQ(traffic.input_dist, ByteMatrix(2));
  EXPECT_EQ(traffic.update, matrix({{0, 4 * 7 * 4}, {4 * 7 * 4, 0}}));
}

/// Row 0 is on both ranks: of the ids {0, 1, 1}, {} and {3} all but the first look for rows of rank 1 and 0.
TEST(Traffic, OfHotRows) {
  const std::vector<Shard> shards{{{1, 4, 2}, 0, 6, 1}, {{2, 4, 2}, 0, 6, 0}};
  const Traffic dense = TwoRanks()(shards, {}, 1);
  EXPECT_EQ(dense.input_dist, matrix({{0, 2 * 4 + 2 * 4}, {1 * 4, 0}}));
  EXPECT_EQ(dense.output_dist, matrix({{0, 1 * 6 * 4}, {2 * 6 * 4, 0}}));
  EXPECT_EQ(dense.update, matrix({{0, 7 * 4}, {7 * 4, 0}}));
  const Traffic rows =
      TwoRanks()(shards, {.transfer = RowTransfer::unique_rows, .replicated_gradients = ReplicatedGradients::rows}, 1);
  EXPECT_EQ(rows.input_dist, matrix({{0, 8 + 1 * 4}, {8, 0}}));
  EXPECT_EQ(rows.update, matrix({{0, 8 + 4 + 6 * 4}, {8, 0}}));
  EXPECT_EQ(TwoRanks()({{{1, 4, 1}, 0, 6, 1}}, {.transfer = RowTransfer::sparse_partials}, 1).output_dist,
            matrix({{0, 0}, {2 * 6 * 4, 0}}));  // of whole other rows every bag has a vector
}

/// Every pair of ranks in every phase, for any plan, ids and movement.
TEST(Traffic, OfTheModelIsThatOfTheSets) {
  std::array<int, transfers.size()> of_transfer{};
  std::array<int, dedups.size()> of_dedup{};
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomStep step(seed);
    const Decisions decided = step.decisions();
    const Traffic sets =
        predict_traffic(step.plan, step.tables, step.features, step.homes, step.movement, decided, step.node_of);
    ASSERT_EQ(step.traffic(decided), sets) << name_of(step.movement.transfer) << " " << name_of(step.movement.dedup);
    ++of_transfer[index_of(step.movement.transfer)];
    ++of_dedup[index_of(decided.dedup)];
  }
  EXPECT_GT(std::ranges::min(of_transfer), 20);
  of_dedup[index_of(Dedup::automatic)] = 1;
  EXPECT_GT(std::ranges::min(of_dedup), 0);
}

}  // namespace
}  // namespace shardmark::placement
