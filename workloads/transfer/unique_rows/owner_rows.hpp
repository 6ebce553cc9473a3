// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/tables/sharded_tables.hpp"
#include "workloads/transfer/unique_rows/row_hop.hpp"

namespace shardmark::workloads {

/// Is the owner's part of dedup owner (HybridBackend's emb_shard_unique): of all rows that are requested from it, each
/// distinct one is read from its table once and repeated for every requester. That saves reads of tables, not bytes on
/// the wire.
class OwnerRows {
 public:
  /// All but `shards`, those of this rank that are asked for, outlive the object.
  OwnerRows(const RowShards& rows, const RowHop& owners, const ShardedTables& tables,
            const std::vector<std::int64_t>& shards)
      : rows_(rows), owners_(owners), asked_(rows, owners), distinct_(rows), lookups_(tables, shards) {}

  /// Finds the distinct rows of requested ids; arguments as of AnsweredRows::list.
  void find(const ConstDeviceArray<std::int64_t>& offsets, const ConstDeviceArray<std::int64_t>& ids);
  /// Returns the number of distinct rows.
  std::int64_t count() const { return distinct_.count(); }
  /// Writes the row of every position to held [RowHop::held_elements()].
  void read(const DeviceArray<float>& held);

 private:
  const RowShards& rows_;
  const RowHop& owners_;
  AnsweredRows asked_;
  DistinctRows distinct_;
  DeviceScratch<std::int64_t> ids_{"shardmark::distinct_ids"}, offsets_{"shardmark::distinct_offsets"};
  DeviceScratch<float> packed_{"shardmark::distinct_rows"};
  std::vector<BagBlock> blocks_;
  TableLookups lookups_;
};

}  // namespace shardmark::workloads
