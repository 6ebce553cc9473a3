// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "workloads/command/doctor/facts.hpp"

namespace shardmark {

BuildFacts build_facts();
/// To be asked before anything runs that makes load.
MachineFacts machine_facts();
/// Collective.
MpiFacts mpi_facts(const Communicator& world);
/// Measures for a few seconds. Collective; Kokkos must be initialised.
CeilingFacts ceiling_facts(const Communicator& world);
/// Collective.
GpuFacts gpu_facts(const Communicator& world);

}  // namespace shardmark
