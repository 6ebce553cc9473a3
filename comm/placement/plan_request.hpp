// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace shardmark {

/// What the user asks of a planner.
struct PlanRequest {
  int ranks = 1;
  std::int64_t replicate_rows = 6000;  ///< tables of at most so many rows are copied to every rank by mixed planners
};

}  // namespace shardmark
