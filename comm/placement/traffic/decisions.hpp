// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/exchange_shapes.hpp"
#include "comm/placement/traffic/moved_plan.hpp"

namespace shardmark::placement {

/// Holds the choices of a movement once a first batch has decided those that say `automatic`.
struct Decisions {
  struct Split {
    TableColumns columns;
    RowTransfer transfer;
  };
  std::vector<Split> splits = {};  ///< columns whose rows are split, in their order
  Dedup dedup = Dedup::local;      ///< never automatic
  std::vector<bool> by_rows = {};  ///< [tables] whether gradients of replicated rows travel by rows, not dense

  /// Returns the transfer of these columns; dense_partials where their rows are not split, because one shard pools
  /// whole bags.
  RowTransfer transfer_of(const TableColumns& columns) const;
  bool any(RowTransfer transfer) const { return std::ranges::find(splits, transfer, &Split::transfer) != splits.end(); }
};

/// Returns whether transfer auto may pick it. reduce_scatter is none of the candidates: it sends as much as
/// dense_partials or, in all, more, and between nodes more than node_partials, which is a candidate there alone.
constexpr bool is_candidate(const TransferChoice& transfer, bool several_nodes) {
  return transfer.bytes != nullptr && transfer.reduction.empty() &&
         (several_nodes || transfer.value != RowTransfer::node_partials);
}

/// Picks the transfer of columns whose rows are split, for auto: unique_rows where features pool by max, else the one
/// for which busiest(transfer) is least: the bytes that the busiest node sends to others, which are what the links
/// between nodes carry, or where there is one node, the bytes that the busiest rank sends. The first of `transfers`
/// among equals.
template <class Busiest>
RowTransfer cheapest_transfer(bool pools_by_max, bool several_nodes, const Busiest& busiest) {
  if (pools_by_max) return RowTransfer::unique_rows;
  constexpr double of_rounding = 1e-9;  // of expected counts, which are added up in several orders
  RowTransfer best = RowTransfer::dense_partials;
  double least = busiest(best);
  for (const TransferChoice& transfer : transfers) {
    if (!is_candidate(transfer, several_nodes)) continue;
    const double bytes = busiest(transfer.value);
    if (bytes >= least * (1.0 - of_rounding)) continue;
    best = transfer.value;
    least = bytes;
  }
  return best;
}

/// Returns whether dedup auto picks node: with the cheapest transfer of each row split, the busiest node then sends
/// other nodes at least a fifth less than with local.
constexpr bool node_dedup_pays(double local_bytes, double node_bytes) {
  return local_bytes > 0.0 && 5 * node_bytes <= 4 * local_bytes;
}

/// Returns whether no rank sends a vector to every other if all row splits travel by node_partials, but inside nodes
/// and along rails alone: nodes have equally many ranks, several each, each column that features read is split by rows,
/// whose holders all have neighbours that hold others, and no feature pools by max.
bool rails_carry_all(const MovedPlan& moved);

/// Returns whether vectors of row splits go inside nodes and along rails by that transfer, where their nodes add.
constexpr bool goes_by_rails(RowTransfer transfer, Dedup dedup) {
  return transfer == RowTransfer::node_partials || (transfer == RowTransfer::unique_rows && dedup == Dedup::node);
}

/// This is the number of bytes of the busiest node for which a message to another node stands: what takes as long as it
/// does besides, 60 us at 1 Gbit/s, 1 us at 8 GB/s.
inline constexpr double bytes_of_message = 8192.0;

/// Returns whether transfer auto sends all row splits as node_partials, where rails_carry_all(): the bytes and messages
/// that leave the busiest node are then no more than with the cheapest transfer of each split. In output_dist and
/// grad_dist each of L ranks on each of N nodes has L (N - 1) messages to other nodes without rails, N - 1 along them.
inline bool rails_pay(double cheapest_bytes, double rail_bytes, const Nodes& nodes) {
  const auto L = static_cast<double>(nodes.ranks_of(0).size());
  const double spared = 2 * L * (L - 1) * (nodes.count() - 1);
  return rail_bytes <= cheapest_bytes + spared * bytes_of_message;
}

/// Returns whether replicated_gradients auto picks rows: the busiest rank sends no more than for a dense sum of all
/// rows.
inline bool row_gradients_pay(double row_bytes, std::int64_t rows, std::int64_t dim, int ranks) {
  return row_bytes <= static_cast<double>(ring_bytes(rows * (dim + 1), ranks));
}

/// Returns whether any feature pools by max, which needs whole bags.
inline bool any_pools_by_max(std::span<const Feature> features) {
  return std::ranges::find(features, Pooling::max, &Feature::pooling) != features.end();
}

/// Returns whether what a rank sends itself stays where it is received, of embeddings that travel as partial sums: only
/// fp32 is sent as it lies, and the gradients of a maximum are found by what the lookup wrote, in an array of their
/// own.
inline bool own_part_stays(const WireTypes& wire, std::span<const Feature> features) {
  return wire == WireTypes{} && !any_pools_by_max(features);
}

/// Returns whether owners may write pooled embeddings where homes read them, and read gradients there: if they travel
/// in one group, in fp32, in the step itself, not pooled by max, between ranks of one node that reach each other's
/// memory. The caller must also know that all of them travel as dense_partials.
inline bool may_lie_at_home(const ExchangeShape& exchange, int nodes, std::int64_t groups, bool prefetches,
                            const WireTypes& wire, std::span<const Feature> features) {
  return exchange.by_loads && nodes == 1 && groups == 1 && !prefetches && own_part_stays(wire, features);
}

/// Holds the bytes by which alternatives are compared. A rank adds what its own samples cause, one rank of each node
/// what those of the node cause together; sums(), added up over the ranks, then make every rank decide alike.
class DecisionBytes {
 public:
  explicit DecisionBytes(const MovedPlan& moved);

  /// Returns whether the movement leaves any choice open that counts of homes decide; needs_nodes(), whether one that
  /// counts of nodes decide.
  bool needs_homes() const { return !sums_.empty(); }
  bool needs_nodes() const { return counts_nodes_; }

  void add_home(int rank, const PlanCounts& counts);
  void add_node(int node, const PlanCounts& counts);
  std::span<double> sums() { return sums_; }

  /// Decides by cheapest_transfer() for each row split, node_dedup_pays(), rails_pay(), and row_gradients_pay() for
  /// each table.
  Decisions decide() const;

 private:
  // Places in sums_: bytes that leave each node, or of one node each rank, by split and transfer; bytes that leave each
  // node, by split and for dedup local and node; bytes that each rank sends, by table whose gradients travel by rows.
  std::int64_t of_transfer(std::int64_t split, RowTransfer transfer) const;
  std::int64_t of_dedup(std::int64_t split, bool by_node) const;
  std::int64_t of_table(std::int64_t table) const;
  double most(std::int64_t first, int count) const;
  void add_between(std::int64_t first, const RoundTrip& trip);
  bool several_nodes() const { return moved_.nodes.count() > 1; }
  std::int64_t bytes_of(std::int64_t split, RowTransfer transfer, bool by_node) const;
  RowTransfer transfer_of(std::int64_t split, bool by_node) const;
  double busiest_node(bool by_node, RowTransfer all = RowTransfer::automatic) const;

  MovedPlan moved_;
  std::vector<ColumnShards> splits_;
  bool chooses_transfer_, chooses_dedup_, counts_nodes_, chooses_rails_, chooses_gradients_;
  Packing packing_;
  std::vector<double> sums_;
};

}  // namespace shardmark::placement
