// SPDX-License-Identifier: Apache-2.0
// What a machine is told of its exchanges, by two visits of which one was disturbed.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "comm/placement/cost/exchange_time.hpp"
#include "comm/placement/cost/machine_file.hpp"
#include "workloads/measure/calibrate/exchange_costs.hpp"

namespace shardmark::workloads {
namespace {

constexpr double latency = 2e-6, per_byte = 1e-10;

Times up_to(std::int64_t largest, double factor) {
  Times times;
  for (std::int64_t bytes = 64; bytes <= largest; bytes *= 2) {
    const auto size = static_cast<double>(bytes);
    times.push_back({size, factor * (latency + per_byte * size)});
  }
  return times;
}

LevelTimes level_times(const Level& level, int ranks) {
  LevelTimes times{.latency = {&level, ranks, {}},
                   .exchanges = {{"linear", up_to(1 << 24, 1.0)}, {"mpi_alltoallv", up_to(1 << 24, 1.1)}},
                   .lone_sender = up_to(1 << 24, 0.6),
                   .sums = up_to(1 << 26, 2.0)};
  for (const auto& [name, seconds] : times.exchanges)
    times.latency.small.push_back({placement::messages_of(name, level.layout(ranks)), seconds.front().seconds});
  return times;
}

ExchangeTimes quiet_visit() {
  ExchangeTimes times{.levels = {level_times(inside_nodes, 2), level_times(between_nodes, 3)},
                      .rested = up_to(1 << 24, 5.0),
                      .node_bytes_per_second = 1e9};
  for (auto& [bytes, seconds] : times.rested) seconds = bytes < 1e6 ? seconds / 100 : seconds;  // a burst
  return times;
}

/// The same beside something else, from 4 MB to 8 MB, so slow that larger ones were left out.
ExchangeTimes disturbed_visit() {
  ExchangeTimes times = quiet_visit();
  const auto disturb = [](Times& of) {
    std::erase_if(of, [](const auto& point) { return point.bytes > 1 << 23; });
    for (auto& [bytes, seconds] : of) seconds *= bytes >= 1 << 22 ? 5.0 : 1.01;
  };
  for (LevelTimes& level : times.levels) {
    for (auto& [name, of] : level.exchanges) disturb(of);
    disturb(level.lone_sender);
    disturb(level.sums);
    for (SmallExchange& small : level.latency.small) small.seconds *= 3.0;
  }
  disturb(times.rested);
  times.node_bytes_per_second /= 3;
  return times;
}

std::string told_by(const ExchangeTimes& times, placement::MachineModel machine = {}) {
  machine.cache_per_rank = 1 << 20;
  set_exchange_costs(times, machine);
  return to_json(machine).dump(1);
}

TEST(ExchangeCosts, AVisitThatWasDisturbedChangesNothing) {
  const std::string quiet = told_by(quiet_visit());
  EXPECT_NE(told_by(disturbed_visit()), quiet);
  ExchangeTimes before = disturbed_visit(), behind = quiet_visit();
  keep_least(before, quiet_visit());
  keep_least(behind, disturbed_visit());
  EXPECT_EQ(told_by(before), quiet);
  EXPECT_EQ(told_by(behind), quiet);
}

TEST(ExchangeCosts, AreSetAnewEachTime) {
  placement::MachineModel machine;
  set_exchange_costs(disturbed_visit(), machine);
  EXPECT_EQ(told_by(quiet_visit(), machine), told_by(quiet_visit()));
  EXPECT_TRUE(machine.limit.limits());
  machine = {};
  EXPECT_TRUE(set_exchange_costs({}, machine).empty());
  EXPECT_TRUE(machine.exchanges.empty());
}

}  // namespace
}  // namespace shardmark::workloads
