// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/replicated_gradients.hpp"
#include "kernels/fused_update.hpp"
#include "kernels/reduce_to_dense.hpp"
#include "workloads/cases/fault.hpp"
#include "workloads/tables/sharded_tables.hpp"
#include "workloads/transfer/replicated/row_gather.hpp"

namespace shardmark {

/// The update of replicated tables: every rank adds up the gradients of all ranks in the same order, so that the copies
/// stay the same. Of each table either the gradients of all rows are reduced (dense) or the touched rows gathered; by
/// `automatic` that is decided in the first step, by its bytes.
class ReplicatedUpdate {
 public:
  ReplicatedUpdate(const Communicator& comm, Lane& lane, const ShardedTables& tables, const ShardLayout& layout,
                   ReplicatedGradients how, SentBytes& sent);

  bool empty() const { return shards_.empty(); }

  /// What the ids of this rank's samples look up, by position: key of the row among all replicated rows, table by
  /// table, and what kernels::RowGradients takes.
  struct Lookups {
    ConstDeviceArray<std::int64_t> keys, gradient_offsets;
    ConstDeviceArray<float> weights, gradients;
  };

  /// Collective. `fault`: exchange or update to commit it.
  void run(const Lookups& lookups, const kernels::UpdateStep& now, Fault fault);

 private:
  struct Replica {
    std::int64_t rows = 0;
    std::int64_t first_key = 0;  ///< as they come
    bool by_rows = false;
    kernels::UpdateShard update;  ///< with the key here: dense tables first
  };

  void decide(const ConstDeviceArray<std::int64_t>& keys);
  void place();
  void update_dense(const kernels::UpdateStep& now, Fault fault);
  void update_by_rows(const kernels::UniqueRows<Execution>& own, const kernels::UpdateStep& now, Fault fault);
  void place_packed();

  const Communicator& comm_;
  Lane& lane_;
  SentBytes& sent_;
  bool undecided_;
  std::vector<Replica> shards_;  ///< in the order of tables
  bool renumbers_ = false;
  ConstDeviceArray<std::int64_t> first_keys_, renumbered_first_keys_;  ///< by table
  std::int64_t keys_ = 0, dense_keys_ = 0, dense_elements_ = 0;
  kernels::ShardList<Execution, kernels::UpdateShard> update_list_;
  std::vector<kernels::DenseShard> stores_;
  DeviceScratch<kernels::DenseShard> device_stores_{"shardmark::gradient_stores"};
  kernels::ShardList<Execution, kernels::DenseShard> store_list_;
  DeviceArray<float> dense_;  ///< dense_elements_, then the touched count of each row of a dense table
  RowGather gather_;
  DeviceScratch<std::int64_t> renumbered_keys_{"shardmark::renumbered_keys"};
  kernels::UniqueRowsWorkspace<Execution> unique_workspace_;
  kernels::RowGradientsWorkspace<Execution> gradients_workspace_;
  kernels::UniqueRowsWorkspace<Execution> touched_workspace_;
};

}  // namespace shardmark
