// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numeric>

#include "comm/placement/test/counted_batch.hpp"
#include "comm/placement/test/random_plan.hpp"
#include "comm/placement/test/random_tables.hpp"
#include "comm/placement/test/traffic_model.hpp"

namespace shardmark::placement {

/// Random tables, plan, samples of every rank, nodes and movement; what counts make of them.
struct RandomStep {
  std::mt19937_64 random;
  std::vector<Table> tables;
  std::vector<Feature> features;
  Plan plan;
  std::vector<Batch> homes;
  std::vector<int> node_of;
  Movement movement;

  explicit RandomStep(std::uint64_t seed) : random(seed) {
    std::mt19937 of_tables(static_cast<unsigned>(seed));
    RandomTables some(of_tables);
    tables = std::move(some.tables);
    features = std::move(some.features);
    for (Table& table : tables) table.optimizer.kind = optimizers[draw(0, std::ssize(optimizers) - 1)].value;
    constexpr std::array often{Pooling::sum, Pooling::mean, Pooling::none};
    for (Feature& feature : features) feature.pooling = draw(0, 9) == 0 ? Pooling::max : often[draw(0, 2)];
    for (Feature& feature : features)
      if (feature.pooling != Pooling::none && draw(0, 3) == 0) feature.segments = 3, feature.segment_rank = 1;
    if (draw(0, 2) == 0) features.pop_back();  // perhaps the only one of its table
    const int ranks = static_cast<int>(draw(1, 7));
    plan = random_plan(tables, ranks, random);
    draw_homes(ranks);
    draw_nodes(ranks);
    const auto value_type = [&] { return value_types[draw(0, std::ssize(value_types) - 1)].value; };
    movement = {.transfer = transfers[draw(0, std::ssize(transfers) - 1)].value,
                .wire = {value_type(), value_type()},
                .wire_ids = wire_ids[draw(0, 1)].value,
                .dedup = Dedup::automatic,
                .replicated_gradients = replicated_gradients[draw(0, 2)].value};
    if (movement.transfer == RowTransfer::unique_rows || movement.transfer == RowTransfer::automatic)
      movement.dedup = dedups[draw(0, std::ssize(dedups) - 1)].value;
    if (movement.dedup == Dedup::node && !nodes().even()) movement.dedup = Dedup::local;
  }

  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  }
  Nodes nodes() const { return Nodes(node_of); }
  bool weighted() const {
    return std::ranges::any_of(homes, [](const Batch& home) { return !home.weights.empty(); });
  }
  MovedPlan moved() const { return {plan, tables, features, movement, weighted(), nodes()}; }

  Decisions decisions() const {
    DecisionBytes bytes(moved());
    for (int r = 0; r < plan.ranks; ++r) bytes.add_home(r, counts_of(plan, tables, features, homes[r]));
    for (int n = 0; n < nodes().count(); ++n) bytes.add_node(n, of_ranks(nodes().ranks_of(n)));
    return bytes.decide();
  }
  Traffic traffic(const Decisions& decided) const {
    TrafficModel model(moved(), decided);
    for (int r = 0; r < plan.ranks; ++r) model.add_home(r, counts_of(plan, tables, features, homes[r]));
    for (int n = 0; n < nodes().count(); ++n) model.add_node(n, of_ranks(nodes().ranks_of(n)));
    std::vector<int> all(plan.ranks);
    std::iota(all.begin(), all.end(), 0);
    model.add_all(of_ranks(all));
    return model.traffic();
  }

 private:
  PlanCounts of_ranks(const std::vector<int>& ranks) const {
    return counts_together(plan, tables, features, homes, ranks);
  }

  void draw_homes(int ranks) {
    const bool weights = draw(0, 1) == 1;
    const std::int64_t longest = draw(0, 3) == 0 ? 80 : draw(1, 8);
    for (int r = 0; r < ranks; ++r) {
      Batch& home = homes.emplace_back();
      home = {.samples = draw(0, 12), .features = std::ssize(features), .offsets = {0}, .indices = {}, .weights = {}};
      home.first_segment = home.segment_offsets = {0};
      for (std::int64_t bag = 0; bag < home.bags(); ++bag) {
        const Feature& feature = features[bag / home.samples];
        const std::int64_t rows = tables[feature.table].rows;
        for (std::int64_t segment = feature.segments == 0 ? 1 : draw(0, 4); segment > 0; --segment) {
          for (std::int64_t i = draw(longest / 4, longest); i > 0; --i) home.indices.push_back(draw(0, rows - 1));
          home.segment_offsets.push_back(home.nnz());
        }
        home.offsets.push_back(home.nnz());
        home.first_segment.push_back(std::ssize(home.segment_offsets) - 1);
      }
      if (weights) home.weights.assign(home.indices.size(), 1.0F);
    }
  }
  /// In blocks or dealt out, on some nodes more than on others where the ranks do not divide by two.
  void draw_nodes(int ranks) {
    const bool blocks = draw(0, 1) == 1;
    if (ranks < 4 || ranks % 2 != 0) {
      for (int r = 0; r < ranks; ++r) node_of.push_back(blocks ? r / 3 : r % 2);
      return;
    }
    const int count = ranks == 6 && draw(0, 1) == 1 ? 3 : 2;
    for (int r = 0; r < ranks; ++r) node_of.push_back(blocks ? r / (ranks / count) : r % count);
  }
};

}  // namespace shardmark::placement
