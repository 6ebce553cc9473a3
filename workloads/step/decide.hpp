// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "comm/placement/decisions.hpp"
#include "workloads/batches/step_input.hpp"

namespace shardmark {

/// What the movement leaves open (`automatic`) decided by the ids of the first batch, of which this rank has its own
/// samples: before a case is made. Collective; the same on all ranks.
Decisions decide(const Communicator& comm, const Plan& plan, const std::vector<Table>& tables,
                 const std::vector<Feature>& features, const Movement& movement, const StepInput& first);

}  // namespace shardmark
