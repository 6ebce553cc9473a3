// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/thread_waiting.hpp"

#include "comm/affinity.hpp"
#include "comm/session.hpp"
#include "workloads/batches/execution.hpp"

namespace shardmark {

Waiting waiting_beside_compute(const Communicator& comm) {
  if (threads_for_rank(comm, observed_affinity()) > Execution().concurrency()) return Waiting::poll;
  return mpi_threads_given() == MpiThreads::several ? Waiting::messages : Waiting::sleep;
}

}  // namespace shardmark
