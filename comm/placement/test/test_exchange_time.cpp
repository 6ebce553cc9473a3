// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "comm/placement/cost/exchange_time.hpp"

namespace shardmark::placement {
namespace {

/// 1 us and 1 ns per byte inside, 10 us and 2 ns between.
MachineModel cluster() {
  MachineModel machine;
  machine.exchanges["mpi_alltoallv"] = {{{{0, 1e-6}, {1000, 2e-6}}}, {{{0, 10e-6}, {1000, 12e-6}}}};
  machine.all_reduce_inside = machine.exchanges["mpi_alltoallv"].inside;
  machine.all_reduce_between = machine.exchanges["mpi_alltoallv"].between;
  return machine;
}

std::vector<double> alike(const RankLayout& layout, double bytes) {
  return std::vector<double>(static_cast<std::size_t>(layout.ranks), bytes);
}

TEST(MessageCost, IsLinearBetweenPointsAndBeyond) {
  const MessageCost cost{{{100, 1}, {200, 3}, {400, 4}}};
  EXPECT_DOUBLE_EQ(cost.seconds(0), 1);
  EXPECT_DOUBLE_EQ(cost.seconds(150), 2);
  EXPECT_DOUBLE_EQ(cost.seconds(300), 3.5);
  EXPECT_DOUBLE_EQ(cost.seconds(400), 4);
  EXPECT_DOUBLE_EQ(cost.seconds(800), 6);
  EXPECT_DOUBLE_EQ(cost.bytes_per_second(), 200);
  EXPECT_EQ(MessageCost{}.seconds(5), 0);
}

TEST(ExchangeTime, IsThatOfTheMessagesOfARank) {
  const RankLayout layout{8, 4};
  EXPECT_NEAR(exchange_seconds(layout, cluster(), "pairwise", alike(layout, 500)), 3 * 1.5e-6 + 4 * 11e-6, 1e-12);
  EXPECT_NEAR(exchange_seconds({4, 4}, cluster(), "linear", alike({4, 4}, 500)), 3 * 1.5e-6, 1e-12);
  // 3 rounds with 4 of 8 blocks each.
  EXPECT_NEAR(exchange_seconds(layout, cluster(), "bruck:2", alike(layout, 500)), 3 * 14e-6, 1e-12);
  // No more messages than other ranks, of a block each.
  EXPECT_NEAR(exchange_seconds({4, 4}, cluster(), "bruck:16", alike({4, 4}, 500)), 3 * 1.5e-6, 1e-12);
  // To each other rank 4 parts of 125 bytes.
  EXPECT_NEAR(exchange_seconds({4, 4}, cluster(), "chunked:4", alike({4, 4}, 500)), 3 * 4 * 1.125e-6, 1e-12);
  // 3 messages of a block to neighbours and 3 of one that they send on, 1 of 4 blocks between.
  EXPECT_NEAR(exchange_seconds(layout, cluster(), "node_aware", alike(layout, 500)), 6 * 1.5e-6 + 14e-6, 1e-12);
  // 3 members hand 4 blocks to the leader and get 4; a message of 16 blocks.
  EXPECT_NEAR(exchange_seconds(layout, cluster(), "node_leader:1", alike(layout, 500)), 6 * 3e-6 + 26e-6, 1e-12);
}

TEST(ExchangeTime, OneSenderTakesAsLongAsOneReceiver) {
  const RankLayout layout{4, 4};
  EXPECT_NEAR(exchange_seconds(layout, cluster(), "linear", std::vector<double>{500, 0, 0, 0}), 3 * 1.5e-6, 1e-12);
  // All but rank 3 send it 500 bytes: it receives 3 messages, each of them sends 3.
  EXPECT_NEAR(exchange_seconds(layout, cluster(), "linear", std::vector<double>{500, 500, 500, 0}), 3 * 1.5e-6, 1e-12);
  EXPECT_EQ(exchange_seconds({1, 1}, cluster(), "linear", std::vector<double>{500}), 0);
}

TEST(ExchangeTime, NeverFallsWithMoreBytes) {
  for (const std::string_view name :
       {"mpi_alltoallv", "linear", "bruck", "bruck:4", "node_aware", "node_leader:2", "auto"})
    for (const RankLayout layout : {RankLayout{2, 2}, RankLayout{6, 3}, RankLayout{7, 4}, RankLayout{64, 8}}) {
      double before = 0.0;
      for (double bytes = 1; bytes < 1e9; bytes *= 10) {
        const double seconds = exchange_seconds(layout, cluster(), name, alike(layout, bytes));
        EXPECT_GE(seconds, before) << name << ' ' << layout.ranks << ' ' << bytes;
        EXPECT_GE(seconds * (1 + 1e-12), link_seconds(layout, cluster(), name, alike(layout, bytes))) << name;
        before = seconds;
      }
    }
}

TEST(ExchangeTime, RanksOfANodeShareItsLink) {
  const RankLayout layout{8, 4};
  MachineModel machine = cluster();
  const double free = exchange_seconds(layout, machine, "linear", alike(layout, 1e6));
  machine.node_bytes_per_second = 1e9;
  EXPECT_NEAR(exchange_seconds(layout, machine, "linear", alike(layout, 1e6)), 16e6 / 1e9, 1e-9);
  machine.node_bytes_per_second = 1e12;
  EXPECT_EQ(exchange_seconds(layout, machine, "linear", alike(layout, 1e6)), free);
}

TEST(ExchangeTime, LinksOfTheBusiestNodeHaveALimit) {
  const RankLayout layout{4, 2};
  MachineModel machine = cluster();
  EXPECT_EQ(limited_seconds(layout, machine.limit, alike(layout, 1000), {}), 0);
  machine.limit = {1e6, 500};
  const std::vector<double> none(4);
  EXPECT_DOUBLE_EQ(limited_seconds(layout, machine.limit, alike(layout, 1000), none), 4e-3);
  EXPECT_DOUBLE_EQ(limited_seconds(layout, machine.limit, std::vector<double>{1000, 200, 0, 0}, none), 2.4e-3);
  EXPECT_DOUBLE_EQ(limited_seconds(layout, machine.limit, none, std::vector<double>{1000, 200, 0, 0}), 1.2e-3);
  EXPECT_EQ(limited_seconds({4, 4}, machine.limit, alike(layout, 1000), none), 0);
  EXPECT_DOUBLE_EQ(limited_sum_seconds(layout, machine.limit, 1000), 1e-3);
  EXPECT_DOUBLE_EQ(link_seconds(layout, machine, "linear", alike(layout, 1000)), 4e-3 - 0.5e-3);
}

TEST(ExchangeTime, MessagesAreFasterTheLessOthersSend) {
  const RankLayout layout{4, 1};
  MachineModel machine = cluster();
  machine.exchanges["mpi_alltoallv"].between = {{{0, 0}, {1000, 12e-6}}};
  const auto seconds = [&](const std::vector<double>& bytes) {
    return exchange_seconds(layout, machine, "linear", bytes);
  };
  const double full = seconds(alike(layout, 1000)), small = seconds(alike(layout, 10));
  machine.alone.between = {{100, 1.0}, {1000, 0.5}};
  EXPECT_DOUBLE_EQ(seconds(alike(layout, 1000)), full);
  EXPECT_DOUBLE_EQ(seconds({1000, 0, 0, 0}), full / 2);
  EXPECT_DOUBLE_EQ(seconds({10, 0, 0, 0}), small);
  EXPECT_DOUBLE_EQ(exchange_seconds({4, 4}, machine, "linear", std::vector<double>{1000, 0, 0, 0}), 3 * 2e-6);
  machine.alone.inside = {{1000, 0.6}};
  EXPECT_DOUBLE_EQ(exchange_seconds({4, 4}, machine, "linear", std::vector<double>{1000, 0, 0, 0}), 3 * 1.2e-6);
  // Two of three others send as much as the busiest: two thirds of what all together are slower.
  EXPECT_DOUBLE_EQ(seconds({1000, 1000, 1000, 0}), full / 2 + full / 2 * 2 / 3);
  std::mt19937_64 random(1);
  for (int draw = 0; draw < 1000; ++draw) {
    std::vector<double> bytes(4);
    for (double& each : bytes) each = static_cast<double>(random() % 2000);
    const double all = seconds(bytes), least = link_seconds(layout, machine, "linear", bytes);
    EXPECT_LE(all, seconds(alike(layout, std::ranges::max(bytes))) * (1 + 1e-12));
    EXPECT_GE(all * (1 + 1e-12), least);
  }
}

TEST(ExchangeTime, MessagesOfARoundShareItsLatency) {
  const RankLayout layout{8, 4};
  MachineModel machine = cluster();
  const auto more = [&](std::string_view exchange, const RankLayout& of) {
    ExchangeCost& cost = machine.exchanges["mpi_alltoallv"];
    cost.call = cost.inside_round = cost.between_round = 0.0;
    const double before = exchange_seconds(of, machine, exchange, alike(of, 500));
    cost.call = 100e-6;
    cost.inside_round = 10e-6;
    cost.between_round = 1e-6;
    return 1e6 * (exchange_seconds(of, machine, exchange, alike(of, 500)) - before);
  };
  EXPECT_NEAR(more("mpi_alltoallv", layout), 101, 1e-6);
  EXPECT_NEAR(more("linear", {4, 4}), 110, 1e-6);
  EXPECT_NEAR(more("linear", {1024, 8}), 101, 1e-6);  // however many peers there are
  EXPECT_NEAR(more("pairwise", layout), 100 + 3 * 10 + 4 * 1, 1e-6);
  EXPECT_NEAR(more("linear_throttled:2", {8, 8}), 100 + 3.5 * 10, 1e-6);
  EXPECT_NEAR(more("linear_throttled:4", {2, 2}), 110, 1e-6);  // no round is less than a latency
  EXPECT_NEAR(more("chunked:4", layout), 401, 1e-6);
  EXPECT_NEAR(more("bruck:2", layout), 103, 1e-6);
  EXPECT_NEAR(more("bruck:3", {9, 9}), 100 + 2 * 10, 1e-6);
  EXPECT_NEAR(more("bruck:16", {4, 4}), 110, 1e-6);
  EXPECT_NEAR(more("node_aware", layout), 211, 1e-6);
  EXPECT_NEAR(more("node_aware", {4, 1}), 101, 1e-6);
  EXPECT_NEAR(more("node_leader:1", layout), 321, 1e-6);
  EXPECT_EQ(exchange_seconds(layout, machine, "linear", alike(layout, 0)), 0);
}

TEST(ExchangeTime, RanksOfASwitchShareItsLink) {
  MachineModel machine = cluster();
  machine.switch_ranks = 4;
  machine.switch_bytes_per_second = 1e9;
  const std::vector<double> one{4e6, 0, 0, 0, 0, 0};
  EXPECT_NEAR(exchange_seconds({8, 8}, machine, "linear", alike({8, 8}, 1e6)), 16e6 / 1e9, 1e-9);
  EXPECT_NEAR(exchange_seconds({6, 6}, machine, "linear", one), 5 * (1e-6 + 4e-3), 1e-9);  // its own link is slower
  machine.switch_bytes_per_second = 1e8;
  EXPECT_NEAR(exchange_seconds({6, 6}, machine, "linear", one), 2 * 4e6 / 1e8, 1e-9);
  EXPECT_NEAR(exchange_seconds({4, 4}, machine, "linear", alike({4, 4}, 1e6)), 3 * (1e-6 + 1e-3), 1e-9);
}

TEST(ExchangeTime, OfRailsAndOfNodesAlone) {
  const RankLayout layout{8, 4};
  EXPECT_NEAR(node_exchange_seconds(layout, cluster(), "linear", alike(layout, 500)), 3 * 1.5e-6, 1e-12);
  EXPECT_NEAR(rail_exchange_seconds(layout, cluster(), "linear", alike(layout, 500)), 11e-6, 1e-12);
}

TEST(AllReduceTime, IsARingOfLargeVectorsAndATreeOfSmallOnes) {
  EXPECT_NEAR(all_reduce_seconds({4, 4}, cluster(), 4e6), 6 * (1e-6 + 1e6 * 1e-9), 1e-9);
  EXPECT_NEAR(all_reduce_seconds({64, 64}, cluster(), 4), 12 * (1e-6 + 4e-9), 1e-9);
  EXPECT_EQ(all_reduce_seconds({1, 1}, cluster(), 4e6), 0);
  MachineModel trees = cluster();
  trees.all_reduce_by_trees = true;
  trees.all_reduce_call = 5e-6;
  // Latencies of a ring inside nodes of 4 and of a tree over 16 of them; the bytes inside take longer.
  EXPECT_NEAR(all_reduce_seconds({64, 4}, trees, 4e6), 5e-6 + 6 * 1e-6 + 8 * 10e-6 + 6 * 1e6 * 1e-9, 1e-9);
}

}  // namespace
}  // namespace shardmark::placement
