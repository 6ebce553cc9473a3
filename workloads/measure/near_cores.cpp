// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/near_cores.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <span>
#include <thread>
#include <utility>

#include "comm/collectives.hpp"
#include "workloads/batches/compute_threads.hpp"

namespace shardmark::workloads {
namespace {

/// Returns the least of several means, so that no interrupt shows. Collective.
double barrier_seconds(const comm::Communicator& comm) {
  constexpr int times = 5, barriers = 50;
  double least = std::numeric_limits<double>::infinity();
  for (int time = 0; time < times; ++time) {
    comm::barrier(comm);
    const double begin = MPI_Wtime();
    for (int i = 0; i < barriers; ++i) comm::barrier(comm);
    least = std::min(least, (MPI_Wtime() - begin) / barriers);
  }
  return comm::all_reduce(comm, least, comm::Reduce::max);
}

}  // namespace

NearCores::NearCores(const comm::Communicator& comm, double allowance, double expected,
                     std::function<double()> time_barrier)
    : comm_(comm),
      node_(comm::ranks_of_node(comm)),
      time_barrier_(std::move(time_barrier)),
      allowance_(allowance),
      shortest_(expected) {}

double NearCores::wait() {
  constexpr std::chrono::milliseconds pause(20);
  const double begin = MPI_Wtime();
  for (;;) {
    double apart = 0.0, barrier = 0.0;
    if (node_.size() > 1) {
      barrier = time_barrier_ ? time_barrier_() : barrier_seconds(node_);
      seen_ = seen_ == 0.0 ? barrier : std::min(seen_, barrier);
      if (shortest_ == 0.0 || barrier < shortest_) shortest_ = barrier;
      apart = are_apart(barrier, shortest_) ? 1.0 : 0.0;
    }
    const double waited = MPI_Wtime() - begin;
    const bool left = comm_.rank() == 0 && waited < allowance_;  // on one clock
    std::array all{barrier, apart, left ? 1.0 : 0.0};
    comm::all_reduce(comm_, std::span<double>(all), comm::Reduce::max);
    if (waited >= patience_ && are_apart(seen_, shortest_)) shortest_ = seen_;
    if (all[1] == 0.0 || all[2] == 0.0) {
      allowance_ -= waited;
      if (are_apart(seen_, shortest_)) patience_ -= waited;
      return all[0];
    }
    std::this_thread::sleep_for(pause);
  }
}

double barrier_of_near_cores(const comm::Communicator& comm) {
  constexpr double of_round = 200e-9;
  return readers_in_node() == kernels::Readers::near ? of_round * std::ceil(std::log2(comm.node_size())) : 0.0;
}

}  // namespace shardmark::workloads
