// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "comm/placement/search/rank_sums.hpp"

namespace shardmark::placement {

/// Holds the costs of a rank, of each of which a step takes the maximum over the ranks.
struct RankCosts {
  enum Place : std::size_t {
    computing,                           ///< seconds by phase, of the tables
    sending = phase_count,               ///< seconds of its messages to all ranks, if no others are sent
    slowed = sending + exchange_phases,  ///< seconds by which those of all ranks slow them down; each by exchange phase
    row_sums = slowed + exchange_phases,  ///< bytes
    memory,                               ///< bytes
    in_node,                              ///< seconds of messages to its node, by exchange phase
    on_rail = in_node + exchange_phases,  ///< seconds of those along its rail
    places = on_rail + exchange_phases
  };
  std::array<double, places> at{};

  double operator[](std::size_t place) const { return at[place]; }
  double& operator[](std::size_t place) { return at[place]; }
  void raise_to(const RankCosts& other) {
    for (std::size_t p = 0; p < places; ++p) at[p] = at[p] < other.at[p] ? other.at[p] : at[p];
  }
  RankCosts& operator+=(const RankCosts& other);
  RankCosts& operator-=(const RankCosts& other);
  double seconds() const;  ///< of computing and sending
  double squares() const;  ///< of each of these seconds, added up

  bool operator==(const RankCosts&) const = default;
};

/// Computes what predict_work() (step_cost.hpp) does from maxima and sums over the ranks, for one context and machine,
/// which outlive it.
class StepSeconds {
 public:
  StepSeconds(const StepContext& step, const MachineModel& machine);

  RankCosts costs(const RankSums& sums) const;

  /// Returns whether the time of an exchange follows from its busiest rank, its busiest node and the sum over the
  /// ranks: every rank sends to every other directly, nodes have equally many ranks, larger messages never take less,
  /// and if messages slow each other down or links have a limit, there is one node.
  bool follows_from_busiest() const { return follows_from_busiest_; }
  /// Returns, where it does, the seconds of exchange phase w in which no rank's messages take longer than `most` and
  /// the ranks of each node exchange that many bytes with each other rank and along their rails. all: sums over ranks.
  double exchange(std::size_t w, const RankCosts& most, const RankCosts& all, std::span<const double> node_bytes,
                  std::span<const double> rail_bytes) const;
  /// Returns the time of an exchange phase in which ranks exchange these bytes.
  ExchangeTime exchange(RankBytes bytes) const;
  /// Returns whether nodes limit exchanges.
  bool has_nodes() const;

  double step(const RankCosts& most, const std::array<ExchangeTime, exchange_phases>& exchanges,
              const StepTotals& totals) const;

 private:
  double groups() const { return static_cast<double>(std::max<std::int64_t>(step_.groups, 1)); }
  double inside(double bytes) const;   ///< seconds of bytes to a rank of the node
  double between(double bytes) const;  ///< of bytes to one of another node
  double sending(double bytes) const;
  double alone_share(double bytes) const;  ///< of sending(), where messages are only sent inside a node
  double sending_in_node(double bytes) const;
  double sending_on_rail(double bytes) const;
  const std::array<ExchangeTime, phase_count>& shared(const StepTotals& totals) const;

  const StepContext& step_;
  const MachineModel& machine_;
  RankLayout layout_;
  MessagesOfRank messages_;
  const ExchangeCost& cost_;
  bool follows_from_busiest_ = false;
  double latency_ = 0.0;                      ///< latency_seconds() of a group's exchange between all ranks
  double node_latency_ = 0.0;                 ///< of one between ranks of a node
  double rail_latency_ = 0.0;                 ///< of one between ranks of a rail
  double at_home_ = 0.0;                      ///< at_home_seconds()
  std::array<double, phase_count> always_{};  ///< seconds that ranks compute without tables
  mutable StepTotals last_{.pools = -1};      ///< what shared() was asked before, and answered
  mutable std::array<ExchangeTime, phase_count> of_last_{};
};

}  // namespace shardmark::placement
