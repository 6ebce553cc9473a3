// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>

#include "comm/affinity.hpp"
#include "comm/communicator.hpp"
#include "results/environment.hpp"

namespace shardmark {

/// How Kokkos starts on this rank: `threads` of them, or if 0 OMP_NUM_THREADS, or else this rank's share of the node.
Kokkos::InitializationSettings kokkos_settings(const Communicator& world, const Affinity& affinity,
                                               std::int64_t threads);

/// argv, what each rank may run on as it is now, and the versions of the libraries. Collective; Kokkos has started.
RunContext run_context(const Communicator& world, const Affinity& affinity, std::uint64_t seed);

}  // namespace shardmark
