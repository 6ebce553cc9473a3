// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"
#include "comm/placement/planners/column_wise.hpp"
#include "comm/placement/planners/data_parallel.hpp"
#include "comm/placement/planners/data_parallel_table_wise.hpp"
#include "comm/placement/planners/row_wise.hpp"
#include "comm/placement/planners/table_wise.hpp"

namespace shardmark {

/// A rule that places tables; `place` returns one placement per table, without empty shards.
struct Planner {
  std::string_view name;
  std::string_view description;
  std::vector<TablePlacement> (*place)(std::span<const Table>, std::span<const Feature>, const PlanRequest&);
};

/// A new planner is a file in planners/ and a line here.
inline constexpr std::array planners{
    Planner{"data_parallel", "every table on every rank", place_data_parallel},
    Planner{"table_wise", "whole tables, dealt round robin in table order", place_table_wise},
    Planner{"row_wise", "row r of every table on rank r mod ranks (HugeCTR: distributed)", place_row_wise},
    Planner{"row_wise_block", "every table in contiguous, equal blocks of rows", place_row_wise_block},
    Planner{"column_wise", "every table in strips of columns, dealt round robin", place_column_wise},
    Planner{"data_parallel+table_wise", "tables of few rows (--replicate-rows) on every rank, the others table_wise",
            place_data_parallel_table_wise},
};

/// The plan of planner `name`, called `name`. Throws InputError when there is no such planner, or not 1 to largest_job
/// ranks.
Plan make_plan(std::string_view name, std::span<const Table> tables, std::span<const Feature> features,
               const PlanRequest& request);

}  // namespace shardmark
