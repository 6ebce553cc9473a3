// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "comm/placement/plan.hpp"
#include "workloads/net/draw.hpp"

namespace shardmark::workloads {

/// Draws a spec: 1 to 8 tables of 1 to 1e5 rows and any dim, some read by several features and some by none, bags that
/// are empty, long, ragged, weighted or all alike, and small layers behind them.
nlohmann::ordered_json draw_workload(Draw& draw, int ranks);

/// Draws a spec that the samples of a Criteo file fit: 26 tables, each read by one feature of one id.
nlohmann::ordered_json draw_criteo_workload(Draw& draw);

/// Draws a sound plan that no planner would make: ranks that hold nothing, uneven blocks of rows, strides that differ,
/// other cuts of rows in each strip of columns, hot rows, several shards of a table on a rank.
placement::Plan draw_plan(Draw& draw, const std::vector<Table>& tables, int ranks);

}  // namespace shardmark::workloads
