// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/affinity.hpp"
#include "comm/communicator.hpp"
#include "comm/session.hpp"
#include "workloads/cases/async.hpp"

namespace shardmark::workloads {

/// Holds what a pool is chosen by, the same on all ranks.
struct PoolFacts {
  comm::MpiThreads mpi = comm::MpiThreads::one_at_a_time;
  bool spare_core = false;  ///< some rank has more cores than threads that compute
  bool one_node = true;     ///< of all ranks
};
/// Returns these facts. Collective; Kokkos has started. affinity: of this rank before any thread was bound.
PoolFacts pool_facts(const comm::Communicator& comm, const comm::Affinity& affinity);

/// Returns the pool that is in effect: automatic becomes inlined where threads of their own would gain nothing, since
/// what is sent is copied by the very cores that compute, or may not use MPI; else shared. Throws InputError where
/// threads are requested that may not use MPI.
StagePool pool_in_effect(StagePool pool, const PoolFacts& facts);

/// Divides the cores of this rank into those that compute, and those that are dedicated to stages: the last ones.
/// `stages` is all of the rank's where none are dedicated.
struct CoreShares {
  std::vector<int> compute, stages;
  bool apart = false;  ///< they have none in common

  /// Returns the number of threads that are to compute where `asked` were requested; 0: what that means elsewhere too.
  std::int64_t threads_to_compute(std::int64_t requested) const;
};
/// Divides the cores. share: cores of this rank (threads_for_rank). Throws InputError where no core would be left to
/// compute, or where other ranks use the same cores.
CoreShares share_cores(const comm::Affinity& affinity, int share, const StagePool& pool);

}  // namespace shardmark::workloads
