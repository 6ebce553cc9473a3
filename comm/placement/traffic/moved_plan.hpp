// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/traffic/movement.hpp"

namespace shardmark::placement {

/// A plan and how the data of its steps move: what bytes are asked of. The plan must be sound (check.hpp), and all its
/// shards of a table with the same columns must hold every row once that is not hot. It, tables and features outlive
/// the object.
struct MovedPlan {
  const Plan& plan;
  std::span<const Table> tables;
  std::span<const Feature> features;
  Movement movement = {};
  bool weighted = false;  ///< looked-up ids have a weight each
  Nodes nodes = {};       ///< for Dedup::node; empty where nobody can use it

  Packing packing(Dedup dedup) const;
};

/// Columns [begin, end) of a table.
struct TableColumns {
  std::int64_t table = 0;
  std::int64_t begin = 0, end = 0;

  auto operator<=>(const TableColumns&) const = default;
};

/// The shards that have these columns, by their numbers in the placement.
struct ColumnShards {
  TableColumns columns;
  std::vector<std::int64_t> shards;

  /// Whether the rows are split, which is where transfers differ.
  bool row_split() const { return shards.size() > 1; }
};

/// Of tables that features read, in the order of tables and columns.
std::vector<ColumnShards> column_shards(const MovedPlan& moved);

/// What the samples that are counted look up there.
HomeLookups lookups_in(const MovedPlan& moved, const ColumnShards& shards, int home, const PlanCounts& counts);

}  // namespace shardmark::placement
