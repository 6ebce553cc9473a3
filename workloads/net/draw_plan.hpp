// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/plan.hpp"
#include "workloads/net/draw.hpp"

namespace shardmark::workloads {

/// A sound plan that no planner would make: ranks that hold nothing, uneven blocks of rows, strides that differ, other
/// cuts of rows in each strip of columns, hot rows, several shards of a table on a rank.
placement::Plan draw_plan(Draw& draw, const std::vector<Table>& tables, int ranks);

}  // namespace shardmark::workloads
