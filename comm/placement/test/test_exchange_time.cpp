// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

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
  // 3 messages of 2 blocks inside, 1 of 4 blocks between.
  EXPECT_NEAR(exchange_seconds(layout, cluster(), "node_aware", alike(layout, 500)), 3 * 2e-6 + 14e-6, 1e-12);
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

TEST(ExchangeTime, OfRailsAndOfNodesAlone) {
  const RankLayout layout{8, 4};
  EXPECT_NEAR(node_exchange_seconds(layout, cluster(), "linear", alike(layout, 500)), 3 * 1.5e-6, 1e-12);
  EXPECT_NEAR(rail_exchange_seconds(layout, cluster(), "linear", alike(layout, 500)), 11e-6, 1e-12);
}

TEST(AllReduceTime, IsARingOfLargeVectorsAndATreeOfSmallOnes) {
  EXPECT_NEAR(all_reduce_seconds({4, 4}, cluster(), 4e6), 6 * (1e-6 + 1e6 * 1e-9), 1e-9);
  EXPECT_NEAR(all_reduce_seconds({64, 64}, cluster(), 4), 12 * (1e-6 + 4e-9), 1e-9);
  EXPECT_EQ(all_reduce_seconds({1, 1}, cluster(), 4e6), 0);
}

}  // namespace
}  // namespace shardmark::placement
