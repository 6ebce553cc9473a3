// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "comm/placement/cost/machine_model.hpp"
#include "workloads/measure/calibrate/fit_latency.hpp"

namespace shardmark::workloads {

/// Holds (bytes, seconds), bytes ascending, each twice the one before.
using Times = std::vector<placement::MessageCost::Point>;

/// Holds what was measured on one level: the seconds of whole movements, by the bytes from rank to rank, those of sums
/// by the bytes of the vector.
struct LevelTimes {
  MeasuredLevel latency;
  std::map<std::string, Times> exchanges;
  Times lone_sender;  ///< MPI_Alltoallv of a group in which one rank alone sends
  Times sums;
};

struct ExchangeTimes {
  std::vector<LevelTimes> levels;
  Times rested;                        ///< from one rank of each node to the next, after a rest
  double node_bytes_per_second = 0.0;  ///< that leave a node when all its ranks send at once; 0: there is one node
};

/// Keeps of each movement the lesser time of two visits: others on the machine only add to it. What one visit left out,
/// since it took too long, is the other's.
void keep_least(ExchangeTimes& times, const ExchangeTimes& other);

/// Sets the times of calls, rounds and messages in `machine`, the share of a message's time where a rank alone sends
/// (AloneShares), and what limits the links between nodes (LinkLimit). machine.cache_per_rank is known. Returns, by
/// level, what the latency is shared by.
std::vector<LevelLatency> set_exchange_costs(const ExchangeTimes& times, placement::MachineModel& machine);

}  // namespace shardmark::workloads
