// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/thread_waiting.hpp"

#include "comm/affinity.hpp"
#include "comm/session.hpp"
#include "workloads/batches/execution.hpp"

namespace shardmark::workloads {

comm::Waiting waiting_beside_compute(const comm::Communicator& comm) {
  if (comm::threads_for_rank(comm, comm::observed_affinity()) > Execution().concurrency()) return comm::Waiting::poll;
  return comm::mpi_threads_given() == comm::MpiThreads::several ? comm::Waiting::messages : comm::Waiting::sleep;
}

}  // namespace shardmark::workloads
