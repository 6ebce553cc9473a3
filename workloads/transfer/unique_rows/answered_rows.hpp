// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/expand_positions.hpp"
#include "kernels/pooled_lookup.hpp"
#include "workloads/transfer/unique_rows/row_hop.hpp"

namespace shardmark::workloads {

/// The rows that a rank is asked for in a stage, by position: the same row from several askers, or from one several
/// times. Who holds each distinct one of them once hands it to all positions.
class AnsweredRows {
 public:
  /// Both outlive the object.
  AnsweredRows(const RowShards& rows, const RowHop& stage) : rows_(rows), stage_(stage) {}

  /// ids [positions] as they came (RowHop::receive_ids), each a bag of one by offsets [positions + 1]; both are read
  /// by the calls that follow, too.
  void list(const ConstDeviceArray<std::int64_t>& offsets, const ConstDeviceArray<std::int64_t>& ids);

  /// [positions]: their rows, and where their vectors begin among RowHop::held_elements().
  const DeviceArray<std::int64_t>& keys() const { return keys_; }
  const DeviceArray<std::int64_t>& vector_begin() const { return vector_begin_; }

  /// vectors [held_elements()]: the row of each position. distinct: of keys(); packed: their rows.
  void repeat(const DistinctRows& distinct, const DeviceArray<float>& packed, const DeviceArray<float>& vectors);

 private:
  const RowShards& rows_;
  const RowHop& stage_;

  // Of the current step, by position.
  ConstDeviceArray<std::int64_t> offsets_;
  DeviceArray<std::int64_t> keys_, vector_begin_;
  DeviceScratch<std::int64_t> keys_scratch_{"shardmark::asked_keys"}, begin_scratch_{"shardmark::asked_vectors"};
  DeviceScratch<std::int64_t> indices_{"shardmark::asked_indices"};
  Listed<kernels::GradientBlock> blocks_;  ///< one per (asker, held row shard)
  Listed<kernels::LookupBlock> lookups_;
  Listed<std::int64_t> shift_;
};

}  // namespace shardmark::workloads
