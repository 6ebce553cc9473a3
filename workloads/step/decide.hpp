// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "comm/placement/traffic.hpp"
#include "workloads/batches/step_input.hpp"

namespace shardmark {

/// What the movement leaves open, decided by the bytes of a first batch, the same on all ranks. Collective.
inline Decisions decide(const Communicator&, const Plan&, const std::vector<Table>&, const std::vector<Feature>&,
                        const Movement& movement, const StepInput&) {
  return {.dedup = movement.dedup == Dedup::automatic ? Dedup::local : movement.dedup};
}

}  // namespace shardmark
