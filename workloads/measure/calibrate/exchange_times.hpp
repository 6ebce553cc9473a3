// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "comm/communicator.hpp"
#include "workloads/measure/calibrate/exchange_costs.hpp"
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

/// Measures every exchange that these ranks can use, and the all-reduce, inside a node (its ranks among themselves, on
/// all nodes at once) and between nodes (one rank of each); MPI_Alltoallv where one rank of a group alone sends; and
/// links between nodes that have rested. A level without a pair of ranks is absent. A time is the median over runs of
/// the slowest rank's; a run begins with a barrier, and exchanges take turns. near: waits before each size.
/// Collective; the same on every rank.
ExchangeTimes measure_exchanges(const comm::Communicator& comm, const ExchangeSizes& sizes, const Status& status,
                                NearCores& near);

}  // namespace shardmark::workloads
