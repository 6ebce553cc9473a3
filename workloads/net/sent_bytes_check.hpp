// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "workloads/net/case_setup.hpp"
#include "workloads/step/flight.hpp"

namespace shardmark::workloads {

/// What a step of batch `number` sent to each rank in each phase against what follows from the ids of all ranks by the
/// slow, set-based count of comm/placement/test; empty where they agree.
std::string unequal_bytes(const comm::Communicator& comm, const CaseSetup& setup, BatchSource& batches,
                          std::int64_t number, const Flight& flight);

}  // namespace shardmark::workloads
