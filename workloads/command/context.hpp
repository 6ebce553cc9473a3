// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/affinity.hpp"
#include "comm/communicator.hpp"
#include "results/environment.hpp"
#include "workloads/measure/status.hpp"

namespace shardmark::workloads {

/// argv, what each rank may run on as it is now, and the versions of the libraries. Collective; Kokkos has started.
results::RunContext run_context(const comm::Communicator& world, const comm::Affinity& affinity, std::uint64_t seed);

/// Enters a phase on every rank, and is rank 0's line on stderr: in place on a terminal, else at most one line every 10
/// seconds.
Status status_line(const comm::Communicator& world);

}  // namespace shardmark::workloads
