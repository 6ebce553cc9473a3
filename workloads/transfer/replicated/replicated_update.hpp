// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "kernels/reduce_to_dense.hpp"
#include "workloads/tables/sharded_tables.hpp"
#include "workloads/transfer/replicated/row_gather.hpp"

namespace shardmark {

/// The update of replicated tables: every rank adds up the gradients of all ranks in the same order, so that the copies
/// stay the same. Of each table either the gradients of all rows are reduced (dense), or the rows that any rank's ids
/// name are gathered with their gradients.
class ReplicatedUpdate {
 public:
  /// gathered: by table; empty: none.
  ReplicatedUpdate(const Communicator& comm, Lane& lane, const ShardedTables& tables, const ShardLayout& layout,
                   const std::vector<bool>& gathered, SentBytes& sent);

  bool empty() const { return replicas_.empty(); }

  /// The replicated rows have keys of their own, table by table: of row 0 of a replicated shard, and how many there
  /// are.
  std::int64_t first_key(std::int64_t shard) const;
  std::int64_t keys() const { return keys_; }
  /// Bytes of the distinct rows of some keys, each read once.
  std::int64_t row_bytes(const kernels::UniqueRows<Execution>& unique) const { return updates_->row_bytes(unique); }

  /// What the ids of this rank's samples look up, by position: key of the row, and what kernels::RowGradients takes.
  struct Positions {
    ConstDeviceArray<std::int64_t> keys, gradient_offsets;
    ConstDeviceArray<float> weights, gradients;
  };

  /// Sums the gradients of each row over all ranks. Collective.
  void reduce(const Positions& positions);
  /// Updates the rows by these sums.
  void apply(const kernels::UpdateStep& now);

  /// The replicated shards under their keys, and the sums of this step, reduced and gathered, where there are some.
  const std::vector<KeyedShard>& replicas() const { return replicas_; }
  std::array<std::optional<RowGradients>, 2> sums() const { return {reduced_, gathered_}; }

 private:
  void place_packed();
  void reduce_dense();

  const Communicator& comm_;
  Lane& lane_;
  SentBytes& sent_;
  std::vector<KeyedShard> replicas_;  ///< tables whose gradients are reduced come before those that are gathered
  std::int64_t keys_ = 0, dense_keys_ = 0, dense_elements_ = 0;
  std::optional<TableUpdates> updates_;
  std::vector<kernels::DenseShard> sums_;  ///< where the sums of each table go
  DeviceScratch<kernels::DenseShard> device_sums_{"shardmark::gradient_sums"};
  kernels::ShardList<Execution, kernels::DenseShard> sum_list_;
  DeviceArray<float> dense_;  ///< dense_elements_, then the touched count of each row of a reduced table
  RowGather gather_;
  kernels::UniqueRowsWorkspace<Execution> unique_workspace_;
  kernels::RowGradientsWorkspace<Execution> gradients_workspace_;
  kernels::UniqueRowsWorkspace<Execution> touched_workspace_;

  // Of the current step.
  std::optional<RowGradients> reduced_;
  std::optional<RowGradients> gathered_;
};

}  // namespace shardmark
