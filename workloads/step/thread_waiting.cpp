// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/thread_waiting.hpp"

#include "comm/affinity.hpp"
#include "comm/mpi_error.hpp"
#include "workloads/batches/execution.hpp"

namespace shardmark {

Waiting waiting_beside_compute(const Communicator& comm) {
  if (threads_for_rank(comm, observed_affinity()) > Execution().concurrency()) return Waiting::poll;
  int given = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&given), "MPI_Query_thread");
  return given == MPI_THREAD_MULTIPLE ? Waiting::messages : Waiting::sleep;
}

}  // namespace shardmark
