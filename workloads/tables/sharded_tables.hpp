// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "kernels/update_shard.hpp"
#include "reference/row_values.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/tables/shard_layout.hpp"

namespace shardmark {

/// The rows and optimizer state that a plan puts on this rank, in memory; in huge pages where the system has them.
class ShardedTables {
 public:
  ShardedTables(const Plan& plan, const std::vector<Table>& tables, const std::vector<Feature>& features, int rank);

  /// Rows and state to their initial values; the next step is number 1.
  void fill(const RowValues& initial);

  /// The step that updates the tables now.
  kernels::UpdateStep next_step() {
    ++step_.number;
    return step_;
  }

  const ShardLayout& layout() const { return layout_; }
  const std::vector<Table>& tables() const { return tables_; }
  const std::vector<Feature>& features() const { return features_; }

  /// [rows of the shard], each row_bytes(value type of its table, dim of the shard).
  void* rows(std::int64_t shard) const { return values_.data() + value_begin_[shard]; }
  float* state(std::int64_t shard) const { return state_.data() + state_begin_[shard]; }
  /// Floats of state per local row.
  std::int64_t state_size(const LocalShard& shard) const;

  /// A shard as fused_update takes it.
  kernels::UpdateShard update_shard(std::int64_t shard, std::int64_t first_key) const;

  const Table& table_of(const LocalShard& shard) const { return tables_[shard.table]; }

  /// Values [local_rows, dim] as floats, and state [local_rows, state_size] of some rows of a shard, on the host.
  std::vector<float> read_rows(std::int64_t shard, const std::vector<std::int64_t>& local_rows) const;
  std::vector<float> read_state(std::int64_t shard, const std::vector<std::int64_t>& local_rows) const;

  /// Share of the bytes of the rows that lie in huge pages, 0 to 1.
  double huge_page_share() const;

  /// Local rows whose values are no longer, bit for bit, the initial ones.
  std::int64_t changed_rows(std::int64_t shard, const RowValues& initial) const;

 private:
  std::vector<Table> tables_;
  std::vector<Feature> features_;
  ShardLayout layout_;
  kernels::UpdateStep step_;
  std::vector<std::int64_t> value_begin_;  ///< by shard, bytes
  std::vector<std::int64_t> state_begin_;  ///< by shard, floats
  DeviceArray<std::byte> values_;
  DeviceArray<float> state_;
};

}  // namespace shardmark
