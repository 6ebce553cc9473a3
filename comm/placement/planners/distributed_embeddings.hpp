// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark::placement {

inline constexpr std::array slice_settings{
    PlannerSetting{"column_threshold", "",
                   "larger tables are cut by columns, into slices of at most so many elements where ranks and columns "
                   "suffice; off: only to give each rank a slice when there are fewer tables than ranks"},
    PlannerSetting{"row_threshold", "", "tables of at least so many elements are cut into blocks of rows, one a rank"},
    PlannerSetting{"dp_threshold", "", "tables of at most so many elements are copied to every rank"},
    PlannerSetting{"merge", "on", "on: slices of a table that meet on a rank become one shard; off: they do not"},
};

/// Places tables by the strategies of NVIDIA distributed-embeddings (sliced_columns.hpp): they form groups of tables by
/// their elements, and slices of columns. place_basic deals the slices in turn.
std::vector<TablePlacement> place_basic(std::span<const Table> tables, std::span<const Feature> features,
                                        const PlanRequest& request);

/// Deals the slices largest first, up and down the ranks, so that each has as many.
std::vector<TablePlacement> place_memory_balanced(std::span<const Table> tables, std::span<const Feature> features,
                                                  const PlanRequest& request);

/// Deals the slices largest first, each to the rank that holds least.
std::vector<TablePlacement> place_memory_optimized(std::span<const Table> tables, std::span<const Feature> features,
                                                   const PlanRequest& request);

}  // namespace shardmark::placement
