// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "comm/waiting.hpp"

namespace shardmark::workloads {

/// How a thread that is not the one of the steps waits in MPI: it polls where this rank has more cores than compute
/// threads, else it leaves its core to them, by messages where others may wait in MPI too (MPI_THREAD_MULTIPLE).
comm::Waiting waiting_beside_compute(const comm::Communicator& comm);

}  // namespace shardmark::workloads
