// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "comm/placement/planners/modulo_split.hpp"
#include "comm/placement/test/random_step.hpp"

namespace shardmark::placement {
namespace {

/// The same as when every alternative is tried with the set-based count.
TEST(Decisions, AreThoseWithTheFewestPredictedBytes) {
  std::array<int, transfers.size()> of_transfer{};
  int by_node = 0, by_rows = 0, dense = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStep step(seed);
    step.movement.transfer = seed % 2 == 0 ? RowTransfer::automatic : RowTransfer::unique_rows;
    if (seed % 3 != 1) step.movement.dedup = seed % 6 == 0 ? Dedup::off : Dedup::automatic;
    step.movement.replicated_gradients = ReplicatedGradients::automatic;
    const Decisions decided = step.decisions();
    const Decisions expected =
        predict_decisions(step.plan, step.tables, step.features, step.homes, step.movement, step.node_of);
    ASSERT_EQ(decided.splits.size(), expected.splits.size());
    for (std::size_t s = 0; s < decided.splits.size(); ++s) {
      EXPECT_EQ(decided.splits[s].columns, expected.splits[s].columns);
      EXPECT_EQ(name_of(decided.splits[s].transfer), name_of(expected.splits[s].transfer)) << "split " << s;
      if (seed % 2 == 0) ++of_transfer[index_of(decided.splits[s].transfer)];
    }
    EXPECT_EQ(name_of(decided.dedup), name_of(expected.dedup));
    EXPECT_EQ(decided.by_rows, expected.by_rows);
    by_node += decided.dedup == Dedup::node;
    for (std::size_t t = 0; t < step.tables.size(); ++t)
      if (step.plan.tables[t].data_parallel) ++(decided.by_rows[t] ? by_rows : dense);
  }
  for (const RowTransfer candidate : {RowTransfer::dense_partials, RowTransfer::sparse_partials,
                                      RowTransfer::unique_rows, RowTransfer::node_partials})
    EXPECT_GT(of_transfer[index_of(candidate)], 5) << name_of(candidate);
  EXPECT_GT(by_node, 10);
  EXPECT_GT(by_rows, 10);
  EXPECT_GT(dense, 10);
}

/// Rows of each table modulo the ranks of one node, of one node after the other.
void split_on_nodes(RandomStep& step) {
  const Nodes nodes = step.nodes();
  for (std::int64_t t = 0; t < std::ssize(step.tables); ++t) {
    step.tables[t].rows = std::max(step.tables[t].rows, std::int64_t{64});
    step.plan.tables[t] = split_modulo(step.tables[t], nodes.ranks_of(static_cast<int>(t % nodes.count())));
  }
}

TEST(Decisions, RailsSpareMessages) {
  int for_messages = 0, for_bytes = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStep step(seed);
    const bool max = std::ranges::find(step.features, Pooling::max, &Feature::pooling) != step.features.end();
    if (!step.nodes().even() || max || step.features.empty()) continue;
    split_on_nodes(step);
    step.movement = {.transfer = RowTransfer::automatic, .dedup = Dedup::local};
    const auto expect = [&] {
      const Decisions decided = step.decisions();
      const Decisions expected =
          predict_decisions(step.plan, step.tables, step.features, step.homes, step.movement, step.node_of);
      for (std::size_t s = 0; s < decided.splits.size(); ++s)
        EXPECT_EQ(name_of(decided.splits[s].transfer), name_of(expected.splits[s].transfer)) << "split " << s;
      return std::ranges::all_of(
          decided.splits, [](const Decisions::Split& split) { return split.transfer == RowTransfer::node_partials; });
    };
    EXPECT_TRUE(rails_carry_all(step.moved()));
    const bool rails = expect();
    // One owner of whole bags sends to all ranks, so that no message is spared.
    const std::int64_t read = step.features.front().table;
    step.plan.tables[read].shards = {{{0, step.tables[read].rows, 1}, 0, step.tables[read].dim, 0}};
    EXPECT_FALSE(rails_carry_all(step.moved()));
    const bool of_others = expect();
    for_messages += rails && !of_others;
    for_bytes += !rails;
  }
  EXPECT_GT(for_messages, 20);
  EXPECT_GT(for_bytes, 2);
}

TEST(Decisions, NoReductionSendsLessThanAuto) {
  int times = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStep step(seed);
    const auto busiest = [&](RowTransfer transfer) {
      step.movement = {.transfer = transfer};
      const Traffic traffic = step.traffic(step.decisions());
      const Nodes nodes = step.nodes();
      const auto place = [&](int rank) { return nodes.count() > 1 ? nodes.of(rank) : rank; };
      std::vector<std::int64_t> sent(static_cast<std::size_t>(step.plan.ranks));
      for (int from = 0; from < step.plan.ranks; ++from)
        for (int to = 0; to < step.plan.ranks; ++to)
          if (place(from) != place(to))
            for (const ByteMatrix* bytes : {&traffic.input_dist, &traffic.output_dist, &traffic.grad_dist})
              sent[place(from)] += (*bytes)(from, to);
      return std::ranges::max(sent);
    };
    step.tables.resize(1);
    step.plan.tables.resize(1);
    std::erase_if(step.plan.tables[0].shards, [](const Shard& shard) { return shard.column_begin > 0; });
    if (std::ranges::any_of(step.features, [](const Feature& f) { return f.table > 0 || f.pooling == Pooling::max; }))
      continue;
    EXPECT_LE(busiest(RowTransfer::automatic), busiest(RowTransfer::reduce_scatter));
    ++times;
  }
  EXPECT_GT(times, 5);
}

TEST(Decisions, MaxIsPooledAtHome) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RandomStep step(seed);
    step.movement = {.transfer = RowTransfer::automatic};
    for (Feature& feature : step.features) feature.pooling = Pooling::max;
    for (const auto& [columns, transfer] : step.decisions().splits) EXPECT_EQ(transfer, RowTransfer::unique_rows);
  }
}

TEST(Decisions, WhatIsNotOpenStays) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    RandomStep step(seed);
    step.movement = {.transfer = RowTransfer::sparse_partials, .replicated_gradients = ReplicatedGradients::rows};
    EXPECT_FALSE(DecisionBytes(step.moved()).needs_homes());
    const Decisions decided = DecisionBytes(step.moved()).decide();
    for (const auto& [columns, transfer] : decided.splits) {
      EXPECT_EQ(transfer, RowTransfer::sparse_partials);
      EXPECT_EQ(decided.transfer_of(columns), transfer);
    }
    EXPECT_EQ(decided.dedup, Dedup::local);
    EXPECT_EQ(decided.by_rows, std::vector<bool>(step.tables.size(), true));
    EXPECT_EQ(decided.transfer_of({std::ssize(step.tables), 0, 1}), RowTransfer::dense_partials);
  }
}

}  // namespace
}  // namespace shardmark::placement
