// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/calibrate/exchange_costs.hpp"

#include <algorithm>
#include <cmath>

#include "comm/placement/cost/exchange_time.hpp"
#include "comm/placement/exchange_shapes.hpp"

namespace shardmark::workloads {
namespace {

void keep_less(Times& times, const Times& other) {
  const std::size_t both = std::min(times.size(), other.size());
  for (std::size_t i = 0; i < both; ++i) times[i].seconds = std::min(times[i].seconds, other[i].seconds);
  times.insert(times.end(), other.begin() + static_cast<std::ptrdiff_t>(both), other.end());
}

constexpr double least_latencies = 4.0, most_alone_share = 0.9;

/// Makes times ascend with the size: a message of more bytes takes no less; where it seems to, the time of the larger
/// one is that of both.
void make_monotonic(placement::MessageCost& cost) {
  for (std::size_t i = cost.points.size(); i-- > 1;)
    cost.points[i - 1].seconds = std::min(cost.points[i - 1].seconds, cost.points[i].seconds);
}

/// Keeps the shares of messages whose bytes take longer than their latency, as all of them do in what is sent by a rank
/// alone; none where links are as fast for all ranks at once.
void keep_shares_of_bytes(const placement::MessageCost& message, std::vector<placement::SizeShare>& shares) {
  for (placement::SizeShare& each : shares)
    if (message.seconds(each.bytes) < least_latencies * message.seconds(0.0)) each.share = 1.0;
  for (std::size_t s = 1; s < shares.size(); ++s) {  // alone too, more bytes take no less
    const double smaller = shares[s - 1].share * message.seconds(shares[s - 1].bytes);
    shares[s].share = std::max(shares[s].share, smaller / message.seconds(shares[s].bytes));
  }
  if (placement::least_share(shares) > most_alone_share) shares.clear();
  const auto first = std::ranges::find_if(shares, [](const placement::SizeShare& each) { return each.share < 1.0; });
  if (first - shares.begin() > 1) shares.erase(shares.begin(), first - 1);
}

/// Returns the cost of one of the messages that the exchange has: (their size, the time of all / their number).
placement::MessageCost::Point one_message(const std::string& exchange, const Level& level, int ranks, double bytes,
                                          double seconds) {
  const placement::MessagesOfRank messages = placement::messages_of(exchange, level.layout(ranks));
  return {bytes * messages.*level.size, seconds / std::max(1.0, messages.*level.messages)};
}

/// Returns the cost of one of the 2 (P - 1) steps of a ring; small vectors take the 2 log2 P steps of a tree, each as
/// long as the first.
placement::MessageCost::Point one_step(int ranks, double bytes, double seconds, const placement::MessageCost& smaller) {
  const double of_ring = seconds / (2 * (ranks - 1));
  const double of_tree = seconds / (2 * std::ceil(std::log2(ranks)));
  return {bytes / ranks, smaller.points.empty() ? of_tree : std::max(of_ring, smaller.points.front().seconds)};
}

void set_level(const LevelTimes& times, placement::MachineModel& machine) {
  const Level& level = *times.latency.level;
  const int ranks = times.latency.ranks;
  for (const auto& [name, seconds_of] : times.exchanges) {
    placement::MessageCost& messages = machine.exchanges[name].*level.exchange;
    for (const auto& [bytes, seconds] : seconds_of)
      messages.points.push_back(one_message(name, level, ranks, bytes, seconds));
    make_monotonic(messages);
  }
  const Times& library = times.exchanges.at(std::string(placement::library_exchange));
  auto& alone = machine.alone.*level.alone;
  for (std::size_t i = 0; i < times.lone_sender.size(); ++i)
    alone.push_back({library[i].bytes, std::min(1.0, times.lone_sender[i].seconds / library[i].seconds)});
  keep_shares_of_bytes(machine.exchange(placement::library_exchange).*level.exchange, alone);
  placement::MessageCost& steps = machine.*level.all_reduce;
  for (const auto& [bytes, seconds] : times.sums) steps.points.push_back(one_step(ranks, bytes, seconds, steps));
  // A step of a sum over two ranks reads and writes twice its bytes at each rank.
  if (level.within()) even_out_large(steps, 2 * machine.cache_per_rank);
  make_monotonic(steps);
}

}  // namespace

void keep_least(ExchangeTimes& times, const ExchangeTimes& other) {
  for (std::size_t l = 0; l < times.levels.size(); ++l) {
    LevelTimes& level = times.levels[l];
    const LevelTimes& beside = other.levels.at(l);
    for (std::size_t e = 0; e < level.latency.small.size(); ++e)
      level.latency.small[e].seconds = std::min(level.latency.small[e].seconds, beside.latency.small.at(e).seconds);
    for (auto& [name, seconds] : level.exchanges) keep_less(seconds, beside.exchanges.at(name));
    keep_less(level.lone_sender, beside.lone_sender);
    keep_less(level.sums, beside.sums);
  }
  keep_less(times.rested, other.rested);
  times.node_bytes_per_second = std::max(times.node_bytes_per_second, other.node_bytes_per_second);
}

std::vector<LevelLatency> set_exchange_costs(const ExchangeTimes& times, placement::MachineModel& machine) {
  machine.exchanges.clear();
  machine.alone = {};
  std::vector<MeasuredLevel> measured;
  for (const Level* level : {&inside_nodes, &between_nodes}) (machine.*level->all_reduce).points.clear();
  for (const LevelTimes& level : times.levels) {
    set_level(level, machine);
    measured.push_back(level.latency);
  }
  machine.node_bytes_per_second = times.node_bytes_per_second;
  machine.limit = limit_of(times.rested);
  auto latencies = fit_latencies(measured);
  share_latencies(latencies, machine);
  return latencies;
}

}  // namespace shardmark::workloads
