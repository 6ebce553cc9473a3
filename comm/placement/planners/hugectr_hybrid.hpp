// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/placement/planners/modulo_split.hpp"

namespace shardmark::placement {

/// Places tables by the share of all elements that they have (hybrid_sharding of HugeCTR's embedding collection tests,
/// test/utest/embedding_collection/configuration.hpp), with E elements in all tables and L ranks per node:
///   less than E / ranks / tables   on every rank, unless a feature reads it without pooling
///   less than E / ranks            on one rank, dealt round robin
///   less than E / L                in rows modulo the ranks of one node, nodes dealt round robin
///   else                           in rows modulo all ranks
/// (There, the second node begins at rank 1, because nodes are numbered where ranks are meant.)
inline std::vector<TablePlacement> place_hugectr_hybrid(std::span<const Table> tables,
                                                        std::span<const Feature> features, const PlanRequest& request) {
  const auto nodes = ranks_by_node(request);
  std::vector<int> all;
  for (const auto& ranks : nodes) all.insert(all.end(), ranks.begin(), ranks.end());
  const auto elements = [](const Table& table) {
    return static_cast<double>(table.rows) * static_cast<double>(table.dim);
  };
  double total = 0.0;
  for (const Table& table : tables) total += elements(table);
  std::vector<char> sequence(tables.size());
  for (const Feature& feature : features) sequence[feature.table] |= feature.pooling == Pooling::none;

  std::vector<TablePlacement> placements;
  int rank = 0;
  std::size_t node = 0;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const double of_rank = total / request.ranks;
    if (elements(tables[t]) < of_rank / static_cast<double>(tables.size()) && !sequence[t])
      placements.push_back({.data_parallel = true, .shards = {}});
    else if (elements(tables[t]) < of_rank)
      placements.push_back({.data_parallel = false, .shards = {whole(tables[t], rank++ % request.ranks)}});
    else if (elements(tables[t]) < total / static_cast<double>(nodes.front().size()))
      placements.push_back(split_modulo(tables[t], nodes[node++ % nodes.size()]));
    else
      placements.push_back(split_modulo(tables[t], all));
  }
  return placements;
}

}  // namespace shardmark::placement
