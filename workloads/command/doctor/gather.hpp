// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "workloads/command/doctor/facts.hpp"

namespace shardmark::workloads {

BuildFacts build_facts();
/// To be asked before anything runs that makes load.
MachineFacts machine_facts();
/// Collective.
MpiFacts mpi_facts(const comm::Communicator& world);
/// Measures for a few seconds. Collective; Kokkos must be initialised.
CeilingFacts ceiling_facts(const comm::Communicator& world);
/// Collective.
GpuFacts gpu_facts(const comm::Communicator& world);

}  // namespace shardmark::workloads
