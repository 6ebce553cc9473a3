// SPDX-License-Identifier: Apache-2.0
// Latencies of times that are made up of calls, rounds and messages.
#include <gtest/gtest.h>

#include <random>

#include "comm/placement/cost/exchange_time.hpp"
#include "workloads/measure/calibrate/fit_latency.hpp"

namespace shardmark::workloads {
namespace {

struct KnownLatency {
  double call, round, message;

  double of(const Level& level, const placement::MessagesOfRank& messages) const {
    return messages.calls * call + messages.*level.rounds * round + messages.*level.messages * message;
  }
};

/// Times of exchanges with 1 to all other ranks, each off by a few percent where `noise` is not 0.
MeasuredLevel times_of(const Level& level, int ranks, const KnownLatency& known, double noise = 0.0) {
  MeasuredLevel measured{&level, ranks, {}};
  std::mt19937_64 random(1);
  std::normal_distribution<double> off(1.0, noise);
  for (int others = 1; others < ranks; ++others)
    for (const char* name : {"linear", "linear_throttled:2", "pairwise"}) {
      const placement::MessagesOfRank messages = placement::messages_of(name, level.layout(others + 1));
      measured.small.push_back({messages, known.of(level, messages) * (noise > 0.0 ? off(random) : 1.0)});
    }
  return measured;
}

LevelLatency fitted(const MeasuredLevel& measured) { return fit_latencies(std::vector{measured}).front(); }

constexpr KnownLatency usual{8e-6, 3e-6, 5e-7};

TEST(FitLatency, FindsCallsRoundsAndMessagesOnThreeRanksAndMore) {
  for (const Level* level : {&inside_nodes, &between_nodes})
    for (const int ranks : {3, 4, 8}) {
      SCOPED_TRACE(std::string(level->name) + " " + std::to_string(ranks));
      const LevelLatency found = fitted(times_of(*level, ranks, usual));
      EXPECT_NEAR(found.call.value_or(0.0), usual.call, 1e-12);
      EXPECT_NEAR(found.round.value_or(0.0), usual.round, 1e-12);
      EXPECT_NEAR(found.message, usual.message, 1e-12);
      EXPECT_LT(found.error, 1e-9);
    }
  const LevelLatency noisy = fitted(times_of(inside_nodes, 8, usual, 0.03));
  EXPECT_NEAR(noisy.call.value_or(0.0) / usual.call, 1.0, 0.2);
  EXPECT_NEAR(noisy.round.value_or(0.0) / usual.round, 1.0, 0.2);
  EXPECT_GT(noisy.error, 0.005);
}

TEST(FitLatency, KnowsNoRoundsOnTwoRanks) {
  const LevelLatency found = fitted(times_of(inside_nodes, 2, usual));
  EXPECT_FALSE(found.call.has_value());
  EXPECT_FALSE(found.round.has_value());
  EXPECT_NEAR(found.message, usual.call + usual.round + usual.message, 1e-12);
}

TEST(FitLatency, LeavesOutWhatTimesDoNotShow) {
  const LevelLatency no_rounds = fitted(times_of(inside_nodes, 8, {8e-6, 0.0, 5e-7}, 0.03));
  EXPECT_TRUE(no_rounds.call.has_value());
  EXPECT_FALSE(no_rounds.round.has_value());
  const LevelLatency messages = fitted(times_of(inside_nodes, 8, {0.0, 0.0, 5e-7}));
  EXPECT_FALSE(messages.call.has_value() || messages.round.has_value());
}

/// A machine in which messages have all of the latency, as it is measured on so many ranks of each level.
placement::MachineModel measured_machine(int ranks) {
  placement::MachineModel machine;
  double speed = 1.0;
  for (const char* name : {"mpi_alltoallv", "linear", "linear_throttled:4", "chunked:4", "pairwise", "bruck:2",
                           "node_aware", "node_shared", "rma_put"})
    for (const Level* level : {&inside_nodes, &between_nodes}) {
      speed *= 1.1;
      const placement::MessagesOfRank messages = placement::messages_of(name, level->layout(ranks));
      const double first = speed * usual.of(*level, messages) / messages.*level->messages;
      (machine.exchanges[name].*level->exchange).points = {{64, first}, {4096, 1.5 * first}, {65536, 20 * first}};
      (machine.*level->all_reduce).points = {{64, 4e-6}, {4096, 5e-6}, {65536, 3e-5}};
    }
  return machine;
}

TEST(ShareLatency, KeepsWhatIsMeasuredAndTakesLessWithMoreRanks) {
  for (const int ranks : {2, 4, 8}) {
    const placement::MachineModel before = measured_machine(ranks);
    placement::MachineModel machine = before;
    share_latencies(
        fit_latencies(std::vector{times_of(inside_nodes, ranks, usual), times_of(between_nodes, ranks, usual)}),
        machine);
    const auto seconds = [](const placement::MachineModel& of, placement::RankLayout layout, const std::string& name,
                            double bytes) {
      return placement::exchange_seconds(layout, of, name, std::vector<double>(layout.ranks, bytes));
    };
    for (const auto& [name, cost] : before.exchanges)
      for (const int per_node : {ranks, 1}) {
        SCOPED_TRACE(name + " " + std::to_string(ranks) + " " + std::to_string(per_node));
        for (const double bytes : {1.0, 64.0, 5000.0, 1e6}) {
          const double was = seconds(before, {ranks, per_node}, name, bytes);
          EXPECT_NEAR(seconds(machine, {ranks, per_node}, name, bytes) / was, 1.0, 1e-9) << bytes;
        }
        const bool shared = ranks > 2 && !(name == "node_shared" && per_node > 1);
        const double far_before = seconds(before, {512, per_node > 1 ? 512 : 1}, name, 8),
                     far = seconds(machine, {512, per_node > 1 ? 512 : 1}, name, 8);
        if (shared)
          EXPECT_LT(far, 0.999 * far_before);
        else
          EXPECT_NEAR(far / far_before, 1.0, 1e-9);
      }
    EXPECT_EQ(machine.exchange("linear").call > 0.0, ranks > 2);
    EXPECT_EQ(machine.exchange("linear").between_round > 0.0, ranks > 2);
    EXPECT_EQ(machine.exchange("node_shared").inside_round, 0.0);
    EXPECT_EQ(machine.all_reduce_call > 0.0, ranks > 2);
    EXPECT_NEAR(placement::all_reduce_seconds({ranks, ranks}, machine, 4),
                placement::all_reduce_seconds({ranks, ranks}, before, 4), 1e-12);
  }
}

TEST(ShareLatency, LeavesMessagesWhatTheirLevelCannotTellApart) {
  const placement::MachineModel before = measured_machine(4);
  placement::MachineModel machine = before;
  share_latencies(fit_latencies(std::vector{times_of(inside_nodes, 2, usual), times_of(between_nodes, 4, usual)}),
                  machine);
  const placement::ExchangeCost& linear = machine.exchange("linear");
  EXPECT_GT(linear.call, 0.0);
  EXPECT_GT(linear.between_round, 0.0);
  EXPECT_EQ(linear.inside_round, 0.0);
  EXPECT_EQ(linear.inside, before.exchange("linear").inside);
  EXPECT_EQ(machine.all_reduce_inside, before.all_reduce_inside);
}

/// Seconds of messages of 64 KiB to 8 MiB behind a bucket of so many bytes, with a latency and a speed below it.
std::vector<placement::MessageCost::Point> sent_through(double burst, double rate, double latency, double fast) {
  std::vector<placement::MessageCost::Point> sent;
  for (double bytes = 1 << 16; bytes <= 1 << 23; bytes *= 2)
    sent.push_back({bytes, std::max(latency + bytes / fast, (bytes - burst) / rate)});
  return sent;
}

TEST(EvenOutLarge, TakesTheLeastTimeForAByteOfThoseThatNoCacheHolds) {
  placement::MessageCost cost{{{0, 1e-6}, {1 << 20, 6e-5}, {1 << 22, 6e-4}, {1 << 23, 1.0e-3}, {1 << 24, 4e-3}}};
  even_out_large(cost, 1 << 22);
  EXPECT_EQ(cost.points[1].seconds, 6e-5);
  EXPECT_DOUBLE_EQ(cost.points[2].seconds, 0.5e-3);
  EXPECT_DOUBLE_EQ(cost.points[4].seconds, 2e-3);
  EXPECT_DOUBLE_EQ(cost.seconds(1 << 26), 8e-3) << "where none is measured";
  const placement::MessageCost before = cost;
  even_out_large(cost, 1 << 25);
  EXPECT_EQ(cost, before) << "all are in caches";
}

TEST(LinkLimit, IsTheRateAndTheBucketOfALimiter) {
  const placement::LinkLimit limit = limit_of(sent_through(250e3, 119e6, 50e-6, 2e9));
  EXPECT_NEAR(limit.bytes_per_second, 119e6, 1.0);
  EXPECT_NEAR(limit.burst, 250e3, 1.0);
  // Plain links have a latency, and caches that small messages stay in.
  EXPECT_FALSE(limit_of(sent_through(0.0, 119e6, 50e-6, 119e6)).limits());
  EXPECT_FALSE(limit_of(sent_through(500e3, 8e9, 1e-6, 12e9)).limits());
  const auto few = sent_through(250e3, 119e6, 50e-6, 2e9);
  EXPECT_FALSE(limit_of(std::span(few).first(2)).limits());
}

}  // namespace
}  // namespace shardmark::workloads
