// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/traffic/dedup.hpp"
#include "comm/placement/traffic/replicated_gradients.hpp"
#include "comm/placement/traffic/transfer_bytes.hpp"
#include "comm/placement/traffic/wire_ids.hpp"

namespace shardmark::placement {

/// Says what travels between the owners of a row-split table's rows and the homes of the samples. automatic:
/// decisions.hpp decides it for each row split from the first batch.
enum class RowTransfer {
  dense_partials,
  sparse_partials,
  unique_rows,
  node_partials,
  reduce_scatter,
  reduce_scatter_pairwise,
  reduce_scatter_halving,
  automatic
};

/// A TransferChoice is an entry of the table `transfers`. bytes: the function that counts what it sends for one rank's
/// lookups; `auto` has none. reduction: how it adds partial sums on their way, an entry of the table `reductions` of
/// comm/reduction; empty for transfers that add none.
struct TransferChoice : Choice<RowTransfer> {
  TransferBytes bytes;
  std::string_view reduction = {};
};

/// Lists the transfers. They differ for row-split tables only; pooled embeddings of whole rows or columns always go by
/// the exchange.
inline constexpr std::array transfers{
    TransferChoice{"dense_partials", "one partial sum per bag and shard by the exchange, added at home",
                   RowTransfer::dense_partials, dense_partial_bytes},
    TransferChoice{"sparse_partials", "the same, only of bags that hold an id of the shard",
                   RowTransfer::sparse_partials, sparse_partial_bytes},
    TransferChoice{"unique_rows", "each row once to every rank that asks for it, pooled at home",
                   RowTransfer::unique_rows, unique_row_bytes},
    TransferChoice{"node_partials",
                   "partial sums added inside each node, one per bag and node by the exchange, added at home",
                   RowTransfer::node_partials, node_partial_bytes},
    TransferChoice{"reduce_scatter", "partial sums added on the way (MPI_Reduce_scatter; gradients by MPI_Allgatherv)",
                   RowTransfer::reduce_scatter, direct_sum_bytes, "library"},
    TransferChoice{"reduce_scatter_pairwise", "the same by own rounds, in round k to rank+k and from rank-k, both ways",
                   RowTransfer::reduce_scatter_pairwise, direct_sum_bytes, "pairwise"},
    TransferChoice{"reduce_scatter_halving", "the same by log P own rounds: halves of the sums, gradients doubled",
                   RowTransfer::reduce_scatter_halving, halving_sum_bytes, "recursive_halving"},
    TransferChoice{
        "auto",
        "of the first four, for each row split the one with which the busiest node sends others least in the "
        "first batch, on one node the busiest rank, or all by node_partials for fewer messages; dense_partials with "
        "async patched",
        RowTransfer::automatic, nullptr},
};
constexpr auto choices_of(RowTransfer) { return Choices{"transfer", transfers}; }
constexpr const TransferChoice& choice_of(RowTransfer transfer) { return transfers[index_of(transfer)]; }

/// Returns whether partial sums are added on their way.
constexpr bool adds_on_the_way(RowTransfer transfer) { return !choice_of(transfer).reduction.empty(); }

/// Holds the part of a case that decides, with its plan and its ids, how many bytes each rank sends.
struct Movement {
  RowTransfer transfer = RowTransfer::dense_partials;
  WireTypes wire = {};
  WireIds wire_ids = WireIds::automatic;
  Dedup dedup = Dedup::automatic;
  ReplicatedGradients replicated_gradients = ReplicatedGradients::dense;

  bool operator==(const Movement&) const = default;
};

}  // namespace shardmark::placement
