// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "workloads/measure.hpp"

namespace shardmark {

/// Rank 0's line on stderr: in place on a terminal, else at most one line every 10 seconds. Silent on other ranks.
Status status_line(const Communicator& world);

}  // namespace shardmark
