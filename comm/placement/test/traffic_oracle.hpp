// SPDX-License-Identifier: Apache-2.0
// The bytes of a step and what they decide, a second time: from the definitions, as sets of ids, slowly, and without
// any code of the model (transfer_bytes.hpp, decisions.hpp) that it is compared with.
#pragma once

#include "comm/placement/traffic/byte_matrix.hpp"
#include "comm/placement/traffic/decisions.hpp"
#include "reference/batch.hpp"

namespace shardmark::placement {

/// Bytes of one step by the phases in which they travel. What stays on a rank is not counted.
struct Traffic {
  ByteMatrix input_dist, output_dist, grad_dist, update;

  explicit Traffic(int ranks = 0) : input_dist(ranks), output_dist(ranks), grad_dist(ranks), update(ranks) {}
  bool operator==(const Traffic&) const = default;
};

/// The bytes of one step from the ids alone. homes[r]: the ids of rank r's own samples, every feature; they are
/// weighted when any of them is. With i the home of a sample, j the owner of the rows, n_f(i) the bags of feature f at
/// i (its ids for Pooling::none), w the columns of a shard, and e = 4 or 8 the bytes of an id (id_type), per feature
/// and shard on j:
///   input_dist   i -> j  4 n_f(i) for the lengths, and e (e + 4 with a weight) per id that the shard holds
///   output_dist  j -> i  n_f(i) rows of w columns in the wire type (row_bytes);  grad_dist  i -> j  the same
/// Row-split columns by sparse_partials: in the last two only the bags that hold an id of the shard; by reduce_scatter:
/// every rank is an owner, of one partial sum, in fp32; by node_partials,
/// of nodes of which several ranks have a shard, and none two: n_f(i) vectors in fp32 from each rank of the node to the
/// one m with i's number on its node, modulo the ranks there, and n_f(i) in the wire type from m to i; by unique_rows,
/// per table and shard with d distinct rows that i names (with dedup off and owner: d ids, repeated ones too):
///   input_dist   i -> j  8 for their number and e d;  output_dist  j -> i  s w d;  grad_dist  i -> j  the same
/// and with dedup node the same from i to the rank m of its node with j's local rank, in fp32, and from m to j once,
/// for the distinct rows that all ranks of the node name. Beside these:
///   update       sums over whole rows of column-split tables (row-wise Adagrad and Adam: 1, LAMB: 2; the most that any
///                table needs): 8 bytes each per distinct row of a shard, to the holder of every other column range;
///                dense gradients of replicated tables and a count per row: a ring, 2 (P - 1) / P of them;
///                by rows: 4 for the id and s w for the gradient of each distinct row, and 8 per table, to every rank;
///                the same of hot rows, whose ids travel nowhere
/// node_of [ranks] is needed for Dedup::node and node_partials alone; empty: every rank on its own. The plan must be
/// sound (plan_check.hpp), and all its shards of a table with the same columns hold every row once that is not hot.
Traffic predict_traffic(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                        std::span<const Batch> homes, const Movement& movement, const Decisions& decided = {},
                        const std::vector<int>& node_of = {});

/// What the movement leaves open, decided by predict_traffic with every alternative in turn.
Decisions predict_decisions(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                            std::span<const Batch> homes, const Movement& movement, const std::vector<int>& node_of);

}  // namespace shardmark::placement
