// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark::placement {

/// Splits rows modulo the ranks of some buckets, where a bucket is a rank (sharding plan "auto" of HugeCTR's embedding
/// collection benchmark, benchmarks/embedding_collection/hugectr/sharding/planner.py). The shards of tables, from the
/// costliest, go to the cheapest bucket without that table. A bucket with shards of tables t costs
///   work B sum(hotness_t dim_t / shards_t) + ratio B sum(features_t dim_t)
/// with B samples in a step: what it looks up and what it sends. Then the table with the shard of most hotness dim /
/// shards + 80 features dim is cut into twice as many shards, as long as there are buckets for them, and so on; of all
/// these plans, and that of every table on every bucket, the one whose costliest bucket costs least is taken. Tables
/// smaller than dp_threshold are on every rank. With request.memory, buckets that are full are passed over, and a table
/// that finds no place is cut. hotness and features are summed over the features that read a table; one without pooling
/// sends a vector per id. The settings are those of samples/dlrm for 8 H100.
std::vector<TablePlacement> place_hugectr_auto(std::span<const Table> tables, std::span<const Feature> features,
                                               const PlanRequest& request);

/// Does the same where a bucket is a node, of L ranks, whose ranks share each of its tables (plan "hier_auto"): it
/// costs
///   work B sum(hotness_t dim_t / shards_t) / L + 3/2 ratio B sum(features_t dim_t) / L
/// but the order of the shards is that of ranks. The settings are those of samples/dlrm for 8 and 16 nodes of 8 H100.
/// With one node, all tables are on all ranks.
std::vector<TablePlacement> place_hugectr_hier_auto(std::span<const Table> tables, std::span<const Feature> features,
                                                    const PlanRequest& request);

/// Returns what the costliest rank of a plan costs by the rule of hugectr_auto, under its settings: a number without a
/// unit, by which plans are compared. A shard costs by its columns, replicated tables nothing. Nothing where the rule
/// says nothing of a table: rows that are hot, or of which parts are stored.
std::optional<double> hugectr_cost(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                                   const PlanRequest& request);

inline constexpr PlannerSetting hugectr_work{"work", "4", "cost of looking up a value and updating it"};
inline constexpr PlannerSetting hugectr_iterations{"iterations", "20",
                                                   "plans that are tried, each with one table cut once more"};

inline constexpr std::array hugectr_auto_settings{
    PlannerSetting{"ratio", "7", "cost of sending a value: memory bandwidth of a rank over that of its links"},
    hugectr_work,
    hugectr_iterations,
    PlannerSetting{"dp_threshold", "0.008", "GB (10^9 bytes) of rows and state below which a table is on every rank"},
};
inline constexpr std::array hugectr_hier_auto_settings{
    PlannerSetting{"ratio", "67",
                   "cost of sending a value: memory bandwidth of a rank over that of its link to other nodes"},
    hugectr_work,
    hugectr_iterations,
    PlannerSetting{"dp_threshold", "0.0125", "GB (10^9 bytes) of rows and state below which a table is on every rank"},
};

}  // namespace shardmark::placement
