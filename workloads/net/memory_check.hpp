// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "workloads/net/case_setup.hpp"

namespace shardmark::workloads {

/// What arrays hold at most while a case is made ready and takes a step, against what memory_needed() says before;
/// empty where that is enough on every rank. Without guard bands. Collective.
std::string memory_beyond(const comm::Communicator& comm, const CaseSetup& setup, BatchSource& batches);

}  // namespace shardmark::workloads
