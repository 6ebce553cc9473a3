// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "comm/placement/cheapest_transfers.hpp"

namespace shardmark {
namespace {

/// A table split by rows among `ranks` ranks, read by one or two features, and random ids.
struct RandomCase {
  std::vector<Table> tables;
  std::vector<Feature> features;
  std::vector<Batch> homes;
  Plan plan;

  RandomCase(std::mt19937& random, Pooling pooling) {
    const auto draw = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
    const int ranks = draw(1, 4);
    const std::int64_t rows = draw(ranks, 60);
    tables.push_back({.name = "t", .rows = rows, .dim = draw(1, 20)});
    const int reading = draw(1, 2);
    for (int f = 0; f < reading; ++f) features.push_back({.name = "f", .table = 0, .pooling = pooling});
    plan = {.name = "p", .ranks = ranks, .tables = {{}}};
    for (int r = 0; r < ranks; ++r) plan.tables[0].shards.push_back({{r, rows, ranks}, 0, tables[0].dim, r});
    for (int r = 0; r < ranks; ++r) {
      Batch& home = homes.emplace_back();
      home = {.samples = draw(0, 12), .features = reading, .offsets = {0}, .indices = {}, .weights = {}};
      for (std::int64_t bag = 0; bag < home.bags(); ++bag) {
        for (int i = draw(0, 6); i > 0; --i) home.indices.push_back(draw(0, static_cast<int>(rows) - 1));
        home.offsets.push_back(home.nnz());
      }
    }
  }

  std::vector<RowTransfer> cheapest(WireIds ids) const {
    TransferBytes bytes(plan, tables, features, {}, id_type(ids, plan, tables), false);
    for (int r = 0; r < plan.ranks; ++r) {
      const Batch& home = homes[r];
      std::vector<FeatureBags> bags;
      for (std::int64_t f = 0; f < home.features; ++f)
        bags.push_back({std::span(home.offsets).subspan(f * home.samples, home.samples + 1), home.indices});
      bytes.add_home(r, bags);
    }
    return bytes.cheapest();
  }

  std::int64_t busiest(RowTransfer transfer, WireIds ids) const {
    const Traffic traffic = predict_traffic(plan, tables, features, homes, {.transfer = transfer, .wire_ids = ids});
    std::int64_t most = 0;
    for (int r = 0; r < plan.ranks; ++r)
      most =
          std::max(most, traffic.input_dist.sent_by(r) + traffic.output_dist.sent_by(r) + traffic.grad_dist.sent_by(r));
    return most;
  }
};

TEST(CheapestTransfers, AreThoseWithTheFewestPredictedBytes) {
  std::array<int, TransferBytes::candidates.size()> times_chosen{};
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const RandomCase one(random, Pooling::sum);
    const WireIds ids = seed % 2 == 0 ? WireIds::automatic : WireIds::int64;
    const auto chosen = one.cheapest(ids);
    if (one.plan.ranks == 1) {
      EXPECT_TRUE(chosen.empty());
      continue;
    }
    ASSERT_EQ(chosen.size(), 1u);
    for (std::size_t c = 0; c < times_chosen.size(); ++c) {
      EXPECT_LE(one.busiest(chosen[0], ids), one.busiest(TransferBytes::candidates[c], ids));
      times_chosen[c] += chosen[0] == TransferBytes::candidates[c];
    }
    EXPECT_LE(one.busiest(chosen[0], ids), one.busiest(RowTransfer::reduce_scatter, ids));
  }
  for (const int times : times_chosen) EXPECT_GT(times, 0);
}

TEST(CheapestTransfers, MaxIsPooledAtHome) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    for (const RowTransfer transfer : RandomCase(random, Pooling::max).cheapest(WireIds::automatic))
      EXPECT_EQ(transfer, RowTransfer::unique_rows);
  }
}

}  // namespace
}  // namespace shardmark
