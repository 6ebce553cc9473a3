// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "comm/communicator.hpp"

namespace shardmark::workloads {

/// Whether threads of ranks of a node must share processors: `threads` of each of `ranks`, where this process may use
/// `own` of the `online` ones. A process that may not use all has been bound to its own.
constexpr bool share_processors(long threads, long ranks, long own, long online) {
  return own < online ? threads > own : threads * ranks > own;
}

/// Where more threads are asked for (--threads, OMP_NUM_THREADS) than there are processors, threads of OpenMP that poll
/// for each other keep the processors from those that they wait for: a step of 2 ranks of 2 threads on 2 processors
/// took 230 ms in place of 0.3. OpenMP reads how threads wait (OMP_WAIT_POLICY) before main; so the program starts
/// itself once more, with `passive`, unless the variable is set.
void wait_passively_where_processors_are_shared(std::span<char*> arguments);

/// Then threads sleep when they wait in MPI too (comm/waiting.hpp), on all ranks. Collective.
void sleep_where_processors_are_shared(const comm::Communicator& world);

}  // namespace shardmark::workloads
