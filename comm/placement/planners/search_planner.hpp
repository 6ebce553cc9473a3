// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark::placement {

inline constexpr std::array search_settings{
    PlannerSetting{
        "options", "data_parallel+table_wise+column_wise+row_wise+row_wise_block+table_row_wise+grid+hot_rows",
        "kinds of placement that a table may have, joined by +; begins with plans of others where all are allowed"},
    PlannerSetting{"format", "shardmark", "of plan files (list plan-formats): only what this one can express"},
    PlannerSetting{"tt", "off", "on: also as a tensor train, which is another model"},
    PlannerSetting{"anneal", "on", "off: end where no single change improves the plan"},
    PlannerSetting{"reserve", "10", "percent of the memory of a rank that is kept free"},
    PlannerSetting{"seed", "", "of the annealing; usually that of the request"},
    PlannerSetting{"seconds", "5", "most that it takes; where they are over first, runs may differ, and it says so"},
};

/// Returns the plan of least predicted time that search() (search/search.hpp) finds, in request.memory less the
/// reserve: from the plans of all other planners where all options are allowed, and the format can express them. It
/// reports in request.remarks what it found.
std::vector<TablePlacement> place_search(std::span<const Table> tables, std::span<const Feature> features,
                                         const PlanRequest& request);

}  // namespace shardmark::placement
