// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/fused_update.hpp"
#include "reference/row_values.hpp"
#include "workloads/execution.hpp"
#include "workloads/shard_layout.hpp"

namespace shardmark {

/// The rows and optimizer state that a plan puts on this rank, in memory.
class ShardedTables {
 public:
  ShardedTables(const Plan& plan, const std::vector<Table>& tables, const std::vector<Feature>& features, int rank);

  /// Rows to their initial values, state to its initial accumulator.
  void fill(const RowValues& initial);

  const ShardLayout& layout() const { return layout_; }
  const std::vector<Table>& tables() const { return tables_; }
  const std::vector<Feature>& features() const { return features_; }

  float* rows(std::int64_t shard) const { return values_.data() + value_begin_[static_cast<std::size_t>(shard)]; }
  float* state(std::int64_t shard) const { return state_.data() + state_begin_[static_cast<std::size_t>(shard)]; }
  /// Floats of state per local row.
  std::int64_t state_size(const LocalShard& shard) const;

  /// Values [local_rows, dim] and state [local_rows, state_size] of some rows of a shard, on the host.
  std::vector<float> read_rows(std::int64_t shard, const std::vector<std::int64_t>& local_rows) const;
  std::vector<float> read_state(std::int64_t shard, const std::vector<std::int64_t>& local_rows) const;

  /// Local rows whose values are no longer, bit for bit, the initial ones.
  std::int64_t changed_rows(std::int64_t shard, const RowValues& initial) const;

 private:
  std::vector<Table> tables_;
  std::vector<Feature> features_;
  ShardLayout layout_;
  std::vector<std::int64_t> value_begin_, state_begin_;
  DeviceArray<float> values_, state_;
};

}  // namespace shardmark
