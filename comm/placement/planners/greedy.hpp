// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark::placement {

/// Places whole tables, the costliest first, each on the rank that has least cost so far (longest processing time
/// first, Graham 1969; among equals the lower table and the lower rank). The costs are the heuristics that AutoShard
/// (Zha et al., KDD 2022) and DreamShard (Zha et al., NeurIPS 2022) compare themselves with; for a table that several
/// features share, the lookups of all of them count.
///
/// Here the cost is the number of values that the table has.
std::vector<TablePlacement> place_size_greedy(std::span<const Table> tables, std::span<const Feature> features,
                                              const PlanRequest& request);

/// Takes columns x features as the cost, the values of a sample's pooled embeddings.
std::vector<TablePlacement> place_dim_greedy(std::span<const Table> tables, std::span<const Feature> features,
                                             const PlanRequest& request);

/// Takes columns x ids as the cost, the values that a sample reads.
std::vector<TablePlacement> place_lookup_greedy(std::span<const Table> tables, std::span<const Feature> features,
                                                const PlanRequest& request);

/// Takes columns x ids x log10(rows) as the cost: rows of large tables are less often in a cache.
std::vector<TablePlacement> place_size_lookup_greedy(std::span<const Table> tables, std::span<const Feature> features,
                                                     const PlanRequest& request);

}  // namespace shardmark::placement
