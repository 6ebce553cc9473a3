// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "comm/placement/cost/machine_model.hpp"
#include "comm/placement/exchange_shapes.hpp"

namespace shardmark::workloads {

/// Says where a machine and the shape of an exchange keep what belongs to the links inside nodes, or between them.
struct Level {
  const char* name;
  placement::MessageCost placement::ExchangeCost::*exchange;
  double placement::ExchangeCost::*round;
  placement::MessageCost placement::MachineModel::*all_reduce;
  double placement::MessagesOfRank::*messages;
  double placement::MessagesOfRank::*size;
  double placement::MessagesOfRank::*rounds;
  std::vector<placement::SizeShare> placement::AloneShares::*alone;

  bool within() const { return messages == &placement::MessagesOfRank::inside; }
  /// Returns the layout of so many ranks that all exchange on this level.
  placement::RankLayout layout(int ranks) const { return {ranks, within() ? ranks : 1}; }
};
inline constexpr Level inside_nodes{"inside",
                                    &placement::ExchangeCost::inside,
                                    &placement::ExchangeCost::inside_round,
                                    &placement::MachineModel::all_reduce_inside,
                                    &placement::MessagesOfRank::inside,
                                    &placement::MessagesOfRank::inside_size,
                                    &placement::MessagesOfRank::inside_rounds,
                                    &placement::AloneShares::inside};
inline constexpr Level between_nodes{"between",
                                     &placement::ExchangeCost::between,
                                     &placement::ExchangeCost::between_round,
                                     &placement::MachineModel::all_reduce_between,
                                     &placement::MessagesOfRank::between,
                                     &placement::MessagesOfRank::between_size,
                                     &placement::MessagesOfRank::between_rounds,
                                     &placement::AloneShares::between};

/// Is an exchange of small messages that was measured: how many it has of what, and how long it took.
struct SmallExchange {
  placement::MessagesOfRank messages;
  double seconds = 0.0;
};

/// Holds what was measured on one level, among so many ranks.
struct MeasuredLevel {
  const Level* level = nullptr;
  int ranks = 0;
  std::vector<SmallExchange> small;
};

/// Holds the seconds of a call, of a round and of a small message. Those that what was measured cannot tell apart are
/// absent: their time is that of the messages.
struct LevelLatency {
  const Level* level = nullptr;
  int ranks = 0;
  std::optional<double> call, round;
  double message = 0.0;
  double error = 0.0;  ///< mean of |fitted - measured| / measured
};

/// Returns, by level, the non-negative least squares of
///   seconds = calls x call + rounds x round + messages x message,
/// each exchange divided by its time. Call and round are absent where their numbers follow from the others' (on 2 ranks
/// a round is a message), or where a fit without them explains the times as well: t < 2.
std::vector<LevelLatency> fit_latencies(std::span<const MeasuredLevel> levels);

/// Gives each exchange of `machine`, and the all-reduce, in which messages have all of the latency, that of calls and
/// rounds: its own time with small messages, divided as the fit divides that of its shape. What it takes on a level
/// stays as it was. Of levels with different calls it has the smaller one; where a level has none, messages keep all.
/// Exchanges by loads have no calls, and no rounds inside a node.
void share_latencies(std::span<const LevelLatency> levels, placement::MachineModel& machine);

/// Gives messages of so many bytes and more the least time for a byte among them: memory is as fast for all that no
/// cache holds, others on the machine only add to a time, and the slope of the last two is that of all larger ones.
void even_out_large(placement::MessageCost& cost, double from);

/// Below these seconds a burst is what caches make faster, not a limiter's.
inline constexpr double least_burst_seconds = 2e-4;

/// Returns the limit that messages of these bytes, ascending, which took so long after a rest, show: the rate is the
/// last slope, the burst what they were ahead of it at most. It is none where that is little.
placement::LinkLimit limit_of(std::span<const placement::MessageCost::Point> sent);

}  // namespace shardmark::workloads
