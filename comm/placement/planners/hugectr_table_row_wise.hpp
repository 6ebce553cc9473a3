// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/placement/planners/modulo_split.hpp"

namespace shardmark::placement {

/// Splits table t by rows modulo the ranks of node t mod nodes (table_row_wise of HugeCTR's embedding collection
/// benchmark, benchmarks/embedding_collection/hugectr/sharding/generate_plan.py). With request.memory, a table goes to
/// all ranks where a rank of its node could not hold its part, as it does there.
inline std::vector<TablePlacement> place_hugectr_table_row_wise(std::span<const Table> tables, std::span<const Feature>,
                                                                const PlanRequest& request) {
  const auto nodes = ranks_by_node(request);
  std::vector<int> all;
  for (const auto& ranks : nodes) all.insert(all.end(), ranks.begin(), ranks.end());
  std::vector<TablePlacement> placements;
  for (const Table& table : tables) {
    const auto& node = nodes[placements.size() % nodes.size()];
    const bool fits = !request.memory || load_of(whole(table, 0), table).bytes() / std::ssize(node) <= *request.memory;
    placements.push_back(split_modulo(table, fits ? node : all));
  }
  return placements;
}

}  // namespace shardmark::placement
