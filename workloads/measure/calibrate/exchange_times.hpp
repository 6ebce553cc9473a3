// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/communicator.hpp"
#include "comm/placement/cost/machine_model.hpp"
#include "workloads/measure/calibrate/fit_latency.hpp"
#include "workloads/measure/near_cores.hpp"
#include "workloads/measure/status.hpp"

namespace shardmark::workloads {

/// Says at which sizes exchanges are measured, each twice the one before, and for how long in all.
struct ExchangeSizes {
  std::int64_t smallest = 64;  ///< bytes from rank to rank
  std::int64_t largest = std::int64_t{16} << 20;
  std::int64_t largest_sum = std::int64_t{64} << 20;  ///< bytes of a vector that all ranks sum
  double seconds = 8.0;
};

/// Sets the times of calls, rounds and messages in `machine`: of every exchange that these ranks can use, and of the
/// all-reduce, inside a node (its ranks among themselves, on all nodes at once) and between nodes (one rank of each);
/// the share of it that MPI_Alltoallv takes where one rank of a group alone sends (AloneShares); and what limits the
/// links between nodes (LinkLimit).
/// Where there is no such pair of ranks, it sets nothing. A time is the median over runs of the slowest rank's; a run
/// begins with a barrier, and exchanges take turns. Returns, by level, what the latency is shared by
/// (fit_latency.hpp). near: waits before each size. Collective; the same on every rank.
std::vector<LevelLatency> measure_exchanges(const comm::Communicator& comm, const ExchangeSizes& sizes,
                                            const Status& status, placement::MachineModel& machine, NearCores& near);

}  // namespace shardmark::workloads
