// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/traffic/moved_plan.hpp"

namespace shardmark::placement {

/// What is left of a movement's choices once a first batch has decided where it says `automatic`.
struct Decisions {
  struct Split {
    TableColumns columns;
    RowTransfer transfer;
  };
  std::vector<Split> splits = {};  ///< columns whose rows are split, in their order
  Dedup dedup = Dedup::local;      ///< never automatic
  std::vector<bool> by_rows = {};  ///< [tables] whether gradients of replicated rows travel by rows, not dense

  /// Of columns whose rows are not split dense_partials: one shard pools whole bags.
  RowTransfer transfer_of(const TableColumns& columns) const;
  bool any(RowTransfer transfer) const { return std::ranges::find(splits, transfer, &Split::transfer) != splits.end(); }
};

/// The bytes by which alternatives are compared. A rank adds what its own samples cause, one rank of each node what
/// those of the node do together; sums(), added up over the ranks, then make every rank decide alike.
class DecisionBytes {
 public:
  explicit DecisionBytes(const MovedPlan& moved);

  /// Whether the movement leaves anything open that counts of homes decide, and whether counts of nodes do.
  bool needs_homes() const { return !sums_.empty(); }
  bool needs_nodes() const { return chooses_dedup_; }

  void add_home(int rank, const PlanCounts& counts);
  void add_node(int node, const PlanCounts& counts);
  std::span<double> sums() { return sums_; }

  /// transfer auto: for each row split the candidate whose busiest rank sends least, unique_rows where features pool by
  /// max. dedup auto: node where the busiest node then sends others at least a fifth less than with local.
  /// replicated_gradients auto: for each table rows where the busiest rank sends no more by them.
  Decisions decide() const;

 private:
  // Places in sums_: bytes that each rank sends, by split and transfer; bytes that leave each node, by split and for
  // dedup local and node; bytes that each rank sends, by table whose gradients travel by rows.
  std::int64_t of_transfer(std::int64_t split, RowTransfer transfer) const;
  std::int64_t of_dedup(std::int64_t split, bool by_node) const;
  std::int64_t of_table(std::int64_t table) const;
  double most(std::int64_t first, int count) const;
  void add_between_nodes(std::int64_t split, bool by_node, const RoundTrip& trip);
  RowTransfer cheapest_transfer(std::int64_t split) const;
  bool node_is_cheaper(const Decisions& decided) const;

  MovedPlan moved_;
  std::vector<ColumnShards> splits_;
  bool chooses_transfer_, chooses_dedup_, chooses_gradients_;
  Packing packing_;
  std::vector<double> sums_;
};

}  // namespace shardmark::placement
