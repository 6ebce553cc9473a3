// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"
#include "comm/placement/planners/column_wise.hpp"
#include "comm/placement/planners/cost_rule.hpp"
#include "comm/placement/planners/data_parallel.hpp"
#include "comm/placement/planners/data_parallel_table_wise.hpp"
#include "comm/placement/planners/distributed_embeddings.hpp"
#include "comm/placement/planners/greedy.hpp"
#include "comm/placement/planners/hot_rows.hpp"
#include "comm/placement/planners/hugectr_auto.hpp"
#include "comm/placement/planners/hugectr_hybrid.hpp"
#include "comm/placement/planners/hugectr_table_row_wise.hpp"
#include "comm/placement/planners/random.hpp"
#include "comm/placement/planners/row_wise.hpp"
#include "comm/placement/planners/search_planner.hpp"
#include "comm/placement/planners/table_wise.hpp"
#include "comm/placement/planners/torchrec.hpp"

namespace shardmark::placement {

/// A Planner is a rule that places tables; `place` returns one placement per table, without empty shards.
struct Planner {
  std::string_view name;
  std::string_view description;
  std::vector<TablePlacement> (*place)(std::span<const Table>, std::span<const Feature>, const PlanRequest&);
  std::span<const PlannerSetting> settings = {};
};

/// Lists all planners: a new one is a file in planners/ and a line here.
inline constexpr std::array planners{
    Planner{"data_parallel", "every table on every rank", place_data_parallel},
    Planner{"table_wise", "whole tables, dealt round robin in table order (HugeCTR: round_robin)", place_table_wise},
    Planner{"row_wise", "row r of every table on rank r mod ranks (HugeCTR: uniform)", place_row_wise},
    Planner{"row_wise_block", "every table in contiguous, equal blocks of rows", place_row_wise_block},
    Planner{"column_wise", "every table in strips of columns, dealt round robin", place_column_wise},
    Planner{"data_parallel+table_wise", "tables of few rows (--replicate-rows) on every rank, the others table_wise",
            place_data_parallel_table_wise},
    Planner{"basic", "distributed-embeddings: slices of tables, dealt round robin in table order", place_basic,
            slice_settings},
    Planner{"memory_balanced", "distributed-embeddings: the largest slices first, up and down the ranks",
            place_memory_balanced, slice_settings},
    Planner{"memory_optimized", "distributed-embeddings: the largest slices first, each to the rank that holds least",
            place_memory_optimized, slice_settings},
    Planner{"size_greedy", "whole tables, the largest first, each to the rank that holds least", place_size_greedy},
    Planner{"dim_greedy", "the same by columns x features", place_dim_greedy},
    Planner{"lookup_greedy", "the same by columns x ids of a sample", place_lookup_greedy},
    Planner{"size_lookup_greedy", "the same by columns x ids of a sample x log10(rows)", place_size_lookup_greedy},
    Planner{"random", "whole tables, each on any rank", place_random, random_settings},
    Planner{"hot_rows",
            "tables of few rows, and the first rows of the others, on every rank; their other rows row_wise",
            place_hot_rows, hot_rows_settings},
    Planner{"hugectr_table_row_wise", "HugeCTR's table_row_wise: rows modulo the ranks of a node, nodes dealt",
            place_hugectr_table_row_wise},
    Planner{"hugectr_hybrid", "HugeCTR's hybrid_sharding: by size, on every rank, one, a node's, or modulo all",
            place_hugectr_hybrid},
    Planner{"hugectr_auto", "HugeCTR's auto: greedy by look-ups and vectors, hottest tables halved by rows",
            place_hugectr_auto, hugectr_auto_settings},
    Planner{"hugectr_hier_auto", "HugeCTR's hier_auto: the same with whole nodes for ranks", place_hugectr_hier_auto,
            hugectr_hier_auto_settings},
    Planner{"cost_rule", "HybridBackend: tables of fewer rows than samples of a rank on every rank, others row_wise",
            place_cost_rule, cost_rule_settings},
    Planner{"cost_rule_bytes", "the same by the bytes that a rank would send", place_cost_rule_bytes},
    Planner{"torchrec", "TorchRec's planner: its estimate, greedy proposals and greedy partitioner", place_torchrec,
            torchrec_settings},
    Planner{"search", "the fastest plan that a local search on predicted time finds, from the plans of all others",
            place_search, search_settings},
};

/// Returns whether "NAME" or "NAME:KEY=VALUE:..." names a planner.
bool names_planner(std::string_view name);

/// Returns the plan of planner "NAME" or "NAME:KEY=VALUE:...", with that text as its name. Throws InputError when there
/// is no such planner or setting, or request.ranks is not 1 to largest_job.
Plan make_plan(std::string_view name, std::span<const Table> tables, std::span<const Feature> features,
               PlanRequest request);

}  // namespace shardmark::placement
