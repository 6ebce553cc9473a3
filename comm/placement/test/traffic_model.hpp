// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/test/traffic_oracle.hpp"

namespace shardmark::placement {

/// Computes the bytes from rank to rank of one step, from counts of what its samples look up, exact or expected:
/// add_home() for every rank; with Dedup::node also add_node() for every node; add_all() once where optimizers sum over
/// whole rows of column-split tables. transfer_bytes.hpp says what pooled embeddings, rows and gradients take. In the
/// update phase travel
///   - 8 bytes for each sum over a whole row (row-wise Adagrad and Adam take 1, LAMB 2; all travel as wide as the
///     widest of the plan), for each distinct row of a shard, to the holder of every other column range;
///   - gradients of replicated tables and of hot rows, dense or by rows (replicated_gradients.hpp).
class TrafficModel {
 public:
  TrafficModel(const MovedPlan& moved, const Decisions& decided);

  /// Adds the bytes of one rank's samples. counts: of the samples of that rank; for add_node() of all ranks of that
  /// node, for add_all() of all ranks.
  void add_home(int rank, const PlanCounts& counts);
  void add_node(int node, const PlanCounts& counts);
  void add_all(const PlanCounts& counts);

  const Traffic& traffic() const { return traffic_; }

 private:
  void add(const std::vector<RoundTrip>& trips);

  MovedPlan moved_;
  Decisions decided_;
  Packing packing_;
  std::vector<ColumnShards> shards_;
  Traffic traffic_;
};

}  // namespace shardmark::placement
