// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "comm/placement/traffic/decisions.hpp"
#include "workloads/batches/step_input.hpp"

namespace shardmark::workloads {

/// What the movement leaves open (`automatic`) decided by the ids of the first batch, of which this rank has its own
/// samples: before a case is made. Collective; the same on all ranks.
placement::Decisions decide(const comm::Communicator& comm, const placement::Plan& plan,
                            const std::vector<Table>& tables, const std::vector<Feature>& features,
                            const placement::Movement& movement, const StepInput& first);

/// The tables, with the direction in which each tensor train is contracted where that is left open: the one that takes
/// fewer flops for the different rows that the first batch names, those of all ranks together. Before tables are made.
/// Trains that round stochastically are contracted from the first core on; InputError where the other end is asked for.
/// Collective; the same on all ranks.
std::vector<Table> with_directions(const comm::Communicator& comm, std::vector<Table> tables,
                                   const std::vector<Feature>& features, const StepInput& first);

}  // namespace shardmark::workloads
