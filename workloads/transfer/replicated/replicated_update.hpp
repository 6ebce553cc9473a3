// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "kernels/reduce_to_dense.hpp"
#include "workloads/tables/sharded_tables.hpp"
#include "workloads/transfer/replicated/row_gather.hpp"

namespace shardmark::workloads {

/// The update of replicated tables and hot rows: every rank adds up the gradients of all ranks in the same order, so
/// that the copies stay the same. Of each table either the gradients of all its replicated rows are reduced (dense), or
/// the rows that any rank's ids name are gathered with their gradients. Of a table whose rows are made of those of
/// several parts the gradients of all rows of the parts, which are few, are reduced in either case.
class ReplicatedUpdate {
 public:
  /// gathered: by table; empty: none.
  ReplicatedUpdate(const comm::Communicator& comm, comm::Lane& lane, const ShardedTables& tables,
                   const ShardLayout& layout, const std::vector<bool>& gathered, comm::SentBytes& sent);

  bool empty() const { return replicas_.empty(); }

  /// The replicated rows have keys of their own, table by table: of row 0 of a replicated shard, and how many there
  /// are.
  std::int64_t first_key(std::int64_t shard) const;
  std::int64_t keys() const { return keys_; }
  /// Bytes of the distinct rows of some keys, each read once.
  std::int64_t row_bytes(const kernels::UniqueRows<Execution>& unique) const { return updates_->row_bytes(unique); }
  /// TableUpdates::report.
  void report(Storage storage, std::span<std::int64_t> numbers) const { updates_->report(storage, numbers); }

  /// What the ids of this rank's samples look up, by position: key of the row, and what kernels::RowGradients takes.
  struct Positions {
    ConstDeviceArray<std::int64_t> keys, gradient_offsets;
    ConstDeviceArray<float> weights, gradients;
  };

  /// Sums the gradients of each row over all ranks. Collective.
  void reduce(const Positions& positions);
  /// Updates the rows by these sums.
  void apply(const kernels::UpdateStep& now);

  /// The replicated shards under their keys.
  const std::vector<KeyedShard>& replicas() const { return replicas_; }
  /// The sums of this step, reduced and gathered, of rows and of rows of parts.
  std::vector<RowGradients> sums() const;
  /// Rows that this step updates, under their keys: of tables that are made of parts, those that this rank named.
  std::vector<RowGradients> updated_rows() const;

 private:
  /// Rows whose gradients are summed where all of them have a place, with a count of the ranks that touched each.
  struct DenseSums {
    std::vector<kernels::DenseShard> shards = {};
    std::int64_t keys = 0, elements = 0;
    std::int64_t begin = 0;  ///< of the elements in dense_; the counts follow them
    kernels::ShardList<Execution, kernels::DenseShard> list = {};
    kernels::UniqueRowsWorkspace<Execution> workspace = {};
    std::optional<RowGradients> reduced = {};  ///< of the current step

    std::int64_t end() const { return begin + elements + keys; }
  };
  /// Those of the parts that tables of one store are made of.
  struct PartSums : DenseSums {
    Store::Updates* updates = nullptr;
  };

  enum class Way { dense, gathered, by_parts };
  Way way(std::int64_t shard, std::int64_t table, const std::vector<bool>& gathered) const;
  void add_replicas(const ShardLayout& layout, Way way, const std::vector<bool>& gathered);
  void add_parts();
  void place_packed();
  void reduce_dense();
  void find_touched(DenseSums& sums);

  const comm::Communicator& comm_;
  comm::Lane& lane_;
  const ShardedTables& tables_;
  comm::SentBytes& sent_;
  std::vector<KeyedShard> replicas_;        ///< in the order of Way
  std::int64_t keys_ = 0, ring_bytes_ = 0;  ///< of the dense sums of all tables and parts
  std::optional<TableUpdates> updates_;
  DenseSums rows_;  ///< and where the gathered sums go, shards from first_gathered_ on
  std::vector<PartSums> parts_;
  std::size_t first_gathered_ = 0;
  DeviceScratch<kernels::DenseShard> device_shards_{"shardmark::gradient_sums"};
  DeviceArray<float> dense_;  ///< rows_, then parts_
  RowGather gather_;
  kernels::UniqueRowsWorkspace<Execution> unique_workspace_, gathered_workspace_;
  kernels::RowGradientsWorkspace<Execution> gradients_workspace_;

  // Of the current step.
  std::optional<RowGradients> own_, gathered_;
};

}  // namespace shardmark::workloads
