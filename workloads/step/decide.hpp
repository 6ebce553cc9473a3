// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "comm/placement/traffic/decisions.hpp"
#include "workloads/batches/step_input.hpp"

namespace shardmark::workloads {

/// Decides what the movement leaves open (`automatic`) by the ids of the first batch, of which this rank has its own
/// samples: before a case is made. Collective; the same on all ranks.
placement::Decisions decide(const comm::Communicator& comm, const placement::Plan& plan,
                            const std::vector<Table>& tables, const std::vector<Feature>& features,
                            const placement::Movement& movement, const StepInput& first);

/// Returns the tables, with what their storages leave open decided by the different rows that the first batch names,
/// those of all ranks together: the direction in which tensor trains are contracted. Call it before tables are made.
/// Throws InputError where a table specifies what its storage cannot do. Collective; the same on all ranks.
std::vector<Table> with_decisions(const comm::Communicator& comm, std::vector<Table> tables,
                                  const std::vector<Feature>& features, const StepInput& first);

}  // namespace shardmark::workloads
