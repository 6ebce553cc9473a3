// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <thread>

#include "comm/communicator.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/cases/fault.hpp"

namespace shardmark {

/// array[at] = factor array[at] + addend.
inline void change_one(const DeviceArray<float>& array, std::int64_t at, float factor, float addend) {
  Kokkos::parallel_for(
      "shardmark::fault", kernels::static_range(Execution(), 1),
      KOKKOS_LAMBDA(const std::int64_t) { array(at) = array(at) * factor + addend; });
}

/// One off a count [1], down to 0: forgets the last of the distinct rows.
inline void decrement(const DeviceArray<std::int64_t>& count) {
  Kokkos::parallel_for(
      "shardmark::fault", kernels::static_range(Execution(), 1),
      KOKKOS_LAMBDA(const std::int64_t) { count(0) = Kokkos::max(count(0) - 1, std::int64_t{0}); });
}

/// Fault::stop and Fault::die, of the last rank.
inline void interrupt(const Communicator& comm, Fault fault) {
  if (comm.rank() + 1 < comm.size()) return;
  if (fault == Fault::die) std::raise(SIGKILL);
  while (fault == Fault::stop) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace shardmark
