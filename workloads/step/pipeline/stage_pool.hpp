// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/affinity.hpp"
#include "comm/communicator.hpp"
#include "comm/session.hpp"
#include "workloads/cases/async.hpp"

namespace shardmark::workloads {

/// What a pool is chosen by, the same on all ranks.
struct PoolFacts {
  comm::MpiThreads mpi = comm::MpiThreads::one_at_a_time;
  bool spare_core = false;  ///< some rank has more cores than threads that compute
  bool one_node = true;     ///< of all ranks
};
/// Collective; Kokkos has started. affinity: of this rank before any thread was bound.
PoolFacts pool_facts(const comm::Communicator& comm, const comm::Affinity& affinity);

/// The pool that is meant: automatic becomes inlined where threads of their own would gain nothing, since what is sent
/// is copied by the very cores that compute, or may not use MPI; else shared. Throws InputError where threads are asked
/// for that may not use MPI.
StagePool pool_in_effect(StagePool pool, const PoolFacts& facts);

/// Cores of this rank that compute, and those that are dedicated to stages: the last ones. `stages` is all of the
/// rank's where none are.
struct CoreShares {
  std::vector<int> compute, stages;
  bool apart = false;  ///< they have none in common

  /// Threads that are to compute where `asked` were given; 0: what that means elsewhere too.
  std::int64_t threads_to_compute(std::int64_t asked) const;
};
/// share: cores of this rank (threads_for_rank). Throws InputError where no core would be left to compute, or where
/// other ranks use the same cores.
CoreShares share_cores(const comm::Affinity& affinity, int share, const StagePool& pool);

}  // namespace shardmark::workloads
