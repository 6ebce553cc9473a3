// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/cost/exchange_ratios.hpp"
#include "comm/placement/cost/software.hpp"
#include "comm/placement/cost/terms.hpp"
#include "reference/optimizer.hpp"

namespace shardmark::placement {

/// Gives the seconds of a message by its size: linear between the points (ascending in bytes), those of the first point
/// below it, by the last slope beyond the last. Without points messages take no time.
struct MessageCost {
  struct Point {
    double bytes = 0.0;
    double seconds = 0.0;

    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;

  double seconds(double bytes) const;
  /// Returns the rate of large messages; 0: unknown.
  double bytes_per_second() const;

  bool operator==(const MessageCost&) const = default;
};

/// Holds the time that one message of an exchange takes of the rank that sends it, or of the one that receives it,
/// inside a node and between nodes, and what messages do not take each: seconds of a call of the library, and the
/// latency that the messages of a round share. exchange_time.hpp says how many calls, rounds and messages of which
/// sizes a rank has, by algorithm, and so how to derive these times from an all-to-all that was measured as a whole.
/// Calibration gives messages what it cannot tell apart (workloads/measure/calibrate/fit_latency.hpp).
struct ExchangeCost {
  MessageCost inside, between;
  double call = 0.0;
  double inside_round = 0.0, between_round = 0.0;

  bool operator==(const ExchangeCost&) const = default;
};

/// Is a point of a curve: the share of a speed, or of a time, that rows or messages of so many bytes have.
struct SizeShare {
  double bytes = 0.0;
  double share = 1.0;

  bool operator==(const SizeShare&) const = default;
};

/// Returns the share at so many bytes: linear between the points, that of the first below and of the last beyond; 1
/// without points.
double share_at(std::span<const SizeShare> curve, double bytes);
double least_share(std::span<const SizeShare> curve);

/// Says what is faster where other ranks send less, as ranks share links: holds the share of a message's time that
/// remains where one rank sends alone, by the bytes of the message. The busiest rank, to which the others send the
/// share x in the mean, takes
///   time x (alone + (1 - alone) x).
/// 1 where ranks do not slow each other down.
struct AloneShares {
  std::vector<SizeShare> inside, between;  ///< of messages inside a node and between nodes

  bool of_messages() const { return !inside.empty() || !between.empty(); }

  bool operator==(const AloneShares&) const = default;
};

/// Says what leaves or enters a node in the long run, where networks limit that by a bucket of tokens, as clouds and
/// `tc` do: links that have rested send `burst` bytes at once, and then bytes_per_second; resting, they regain as much.
struct LinkLimit {
  double bytes_per_second = 0.0;  ///< 0: there is no limit
  double burst = 0.0;             ///< bytes

  bool limits() const { return bytes_per_second > 0.0; }
  /// Returns the seconds of messages that links which have rested spare at most.
  double burst_seconds() const { return limits() ? burst / bytes_per_second : 0.0; }

  bool operator==(const LinkLimit&) const = default;
};

/// Says how fast a machine does what a step needs. It is measured (`shardmark calibrate`) or described
/// (comm/placement/machines/). machine_file.hpp is its JSON.
struct MachineModel {
  std::string name;
  std::string source;  ///< "measured on 2 ranks of 1 thread, ..." or what it is described by
  bool measured = false;
  std::string fingerprint;       ///< of the hosts it was measured on; empty where described
  int ranks_per_node = 0;        ///< that predictions assume; 0: all
  double memory_per_rank = 0.0;  ///< bytes; 0: unknown
  double cache_per_rank = 0.0;   ///< bytes of the last-level cache that a rank may fill
  double flops = 0.0;            ///< a rank's, of large dense products
  double dense_start = 0.0;      ///< seconds of launches of the dense layers, however few samples there are
  /// These are what a data sheet says of a rank, from which its terms follow (machine_description.hpp); 0: unknown.
  double sheet_cores = 0.0, sheet_memory_bytes_per_second = 0.0;

  Software software = {};  ///< that runs a step, at the speeds below

  /// Says that our own steps run on processors: they add gradients of tables of few rows in the order of ids
  /// (few_row_sums) instead of sorting them by row, and the cores that compute copy what ranks of a node send each
  /// other.
  bool on_processors = false;

  TermCounts seconds{};                                          ///< by term
  std::map<std::string, double, std::less<>> optimizer_weights;  ///< of update.optimizer_value; absent ones: 1
  std::map<std::string, ExchangeCost, std::less<>> exchanges;    ///< by name; others are taken to be as mpi_alltoallv
  AloneShares alone;
  LinkLimit limit;                     ///< of the links of a node to others
  double node_bytes_per_second = 0.0;  ///< that leave a node at most, of all its ranks; 0: no limit but the messages'
  /// Says how many ranks of a node share a switch (0: all), and what leaves such a group at most for others of the
  /// node.
  int switch_ranks = 0;
  double switch_bytes_per_second = 0.0;
  MessageCost all_reduce_inside, all_reduce_between;  ///< of a step of a ring, by the bytes of the step: vector / P
  double all_reduce_call = 0.0;                       ///< seconds of a call of it
  /// Says that nodes add up in trees while ranks of a node do: 2 log2 N latencies between them and the bytes of a ring.
  bool all_reduce_by_trees = false;

  /// Holds the ratios by which exchange auto picks, for the ranks that were measured; it has no cells for one rank and
  /// for described machines.
  ExchangeRatios ratios;

  /// These are the measured ceilings, for the floors beside phases, which are the least that the ceilings allow: bytes
  /// per second of a rank; 0: unknown.
  double stream_bytes_per_second = 0.0, gather_bytes_per_second = 0.0, update_bytes_per_second = 0.0;

  /// Holds the share of the speed of update.line and lookup.line that rows of so many bytes have, ascending in both;
  /// without points all have it.
  std::vector<SizeShare> row_shares;

  double row_share(double row_bytes) const;

  /// Returns the cost of exchange `name`; of "bruck" for "bruck:2" where that alone is known, else of mpi_alltoallv.
  const ExchangeCost& exchange(std::string_view name) const;
  double optimizer_weight(OptimizerKind kind) const;

  bool operator==(const MachineModel&) const = default;
};

/// Returns a cluster of CPU nodes on 100 Gb/s, that of comm/placement/machines/cpu-100g.json: planners assume it when
/// the user names no machine.
const MachineModel& described_cluster();

}  // namespace shardmark::placement
