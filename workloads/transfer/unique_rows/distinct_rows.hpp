// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/pack_row_gradients.hpp"
#include "kernels/shard_segments.hpp"
#include "workloads/batches/listed.hpp"
#include "workloads/transfer/unique_rows/row_shards.hpp"

namespace shardmark::workloads {

/// The distinct rows among some positions, by row shard, and where they lie when they are packed: those of a shard
/// together, shard after shard.
class DistinctRows {
 public:
  explicit DistinctRows(const RowShards& rows) : shards_(rows), segments_(rows.key_bounds) {}

  /// keys [positions], see RowShard::first_key. With `repeated` a row that several positions name counts as often as
  /// they name it. Waits for the device. Results are valid until the next call.
  void find(const ConstDeviceArray<std::int64_t>& keys, bool repeated = false);

  const kernels::UniqueRows<Execution>& unique() const { return unique_; }
  std::int64_t count() const { return first_row_.back(); }
  /// Row u of unique() is row u - first_row(shard) of its shard; shard in [0, row shards].
  std::int64_t first_row(std::int64_t shard) const { return first_row_[shard]; }
  std::int64_t rows(std::int64_t shard) const { return first_row(shard + 1) - first_row(shard); }
  /// Element where the packed rows of a shard begin, and how many there are of all.
  std::int64_t packed_begin(std::int64_t shard) const { return packed_begin_[shard]; }
  std::int64_t packed_elements() const { return packed_begin_.back(); }

  /// The packed rows as kernels take them.
  kernels::ShardList<Execution, kernels::PackedRows> packed() const { return {packed_, shards_.largest_dim}; }

  /// ids [count]: the rows, as numbers within their shard.
  template <class Index>
  void list_ids(const DeviceArray<Index>& ids) const {
    segments_.list_ids(unique_, 0, ids);
  }
  /// numbers [positions]: u + shift[shard of row u] at the positions of row u.
  void number_positions(const ConstDeviceArray<std::int64_t>& shift, const DeviceArray<std::int64_t>& numbers) const {
    kernels::invert_unique_rows(Execution(), unique_, shards_.first_keys, shift, numbers);
  }

 private:
  const RowShards& shards_;
  kernels::UniqueRowsWorkspace<Execution> workspace_;
  DeviceScratch<std::int64_t> each_{"shardmark::each_position"};
  kernels::UniqueRows<Execution> unique_;
  kernels::ShardSegments<Execution> segments_;
  std::vector<std::int64_t> first_row_{0}, packed_begin_{0};  ///< [row shards + 1]
  Listed<kernels::PackedRows> packed_rows_;
  ConstDeviceArray<kernels::PackedRows> packed_;
};

}  // namespace shardmark::workloads
