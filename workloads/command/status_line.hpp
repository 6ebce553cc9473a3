// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "workloads/measure/measure.hpp"

namespace shardmark {

/// Enters a phase on every rank, and is rank 0's line on stderr: in place on a terminal, else at most one line every 10
/// seconds.
Status status_line(const Communicator& world);

}  // namespace shardmark
