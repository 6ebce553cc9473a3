// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/tables/sharded_tables.hpp"
#include "workloads/transfer/unique_rows/row_hop.hpp"

namespace shardmark::workloads {

/// The owner's part of dedup owner (HybridBackend's emb_shard_unique): of all rows that it is asked for, each distinct
/// one is read from its table once and repeated for everyone who asked. That saves reads of tables, not bytes on the
/// wire.
class OwnerRows {
 public:
  /// All outlive the object.
  OwnerRows(const RowShards& rows, const RowHop& owners, const ShardedTables& tables)
      : rows_(rows), owners_(owners), asked_(rows, owners), distinct_(rows), lookups_(tables) {}

  /// As AnsweredRows::list.
  void find(const ConstDeviceArray<std::int64_t>& offsets, const ConstDeviceArray<std::int64_t>& ids);
  /// Distinct rows.
  std::int64_t count() const { return distinct_.count(); }
  /// held [RowHop::held_elements()]: the row of every position.
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
