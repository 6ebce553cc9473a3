// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "workloads/net/net_setup.hpp"
#include "workloads/step/flight.hpp"

namespace shardmark::workloads {

/// Compares what arrays hold at most while a case is made ready and takes a step with what memory_needed() returns
/// before; the result is empty where that is enough on every rank. It runs without guard bands. Collective.
std::string memory_beyond(const comm::Communicator& comm, const CaseSetup& setup, BatchSource& batches);

/// Compares what a step of batch `number` sent to each rank in each phase with what follows from the ids of all ranks
/// by the slow, set-based count of comm/placement/test; the result is empty where they agree.
std::string unequal_bytes(const comm::Communicator& comm, const CaseSetup& setup, BatchSource& batches,
                          std::int64_t number, const Flight& flight);

}  // namespace shardmark::workloads
