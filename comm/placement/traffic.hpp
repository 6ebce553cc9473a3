// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/byte_matrix.hpp"
#include "comm/placement/decisions.hpp"

namespace shardmark {

/// Bytes of one step by the phases in which they travel. What stays on a rank is not counted.
struct Traffic {
  ByteMatrix input_dist, output_dist, grad_dist, update;

  explicit Traffic(int ranks = 0) : input_dist(ranks), output_dist(ranks), grad_dist(ranks), update(ranks) {}
  bool operator==(const Traffic&) const = default;
};

/// The bytes from rank to rank of one step, from counts of what its samples look up: add_home() for every rank and,
/// with Dedup::node, add_node() for every node; add_all() where optimizers sum over rows that column shards share.
/// Beside what transfer_bytes.hpp says of vectors, the update phase sends
///   sums over whole rows of column-split tables (row-wise Adagrad and Adam: 1, LAMB: 2; the most that any table
///   needs):
///     8 bytes each per distinct row of a shard, to the holder of every other column range;
///   gradients of replicated tables (replicated_gradients.hpp): dense, round a ring, or by rows, to every rank.
class TrafficModel {
 public:
  TrafficModel(const MovedPlan& moved, const Decisions& decided);

  /// counts: of the samples of that rank, of all ranks of that node, of all ranks.
  void add_home(int rank, const LookupCounts& counts);
  void add_node(int node, const LookupCounts& counts);
  void add_all(const LookupCounts& counts);

  const Traffic& traffic() const { return traffic_; }

 private:
  void add(const std::vector<RoundTrip>& trips);

  MovedPlan moved_;
  Decisions decided_;
  Packing packing_;
  std::vector<ColumnShards> shards_;
  Traffic traffic_;
};

}  // namespace shardmark
