// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark::placement {

/// Places every table on every rank.
inline std::vector<TablePlacement> place_data_parallel(std::span<const Table> tables, std::span<const Feature>,
                                                       const PlanRequest&) {
  return std::vector(tables.size(), TablePlacement{.data_parallel = true, .shards = {}});
}

}  // namespace shardmark::placement
