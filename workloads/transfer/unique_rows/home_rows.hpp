// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/traffic/dedup.hpp"
#include "comm/placement/traffic/movement.hpp"
#include "kernels/lookup/pooled_gradients.hpp"
#include "kernels/route/later_rows.hpp"
#include "kernels/route/vector_pieces.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/batches/step_input.hpp"
#include "workloads/tables/shard_layout.hpp"
#include "workloads/tables/sharded_tables.hpp"
#include "workloads/transfer/unique_rows/node_rows.hpp"
#include "workloads/transfer/unique_rows/owner_rows.hpp"

namespace shardmark::workloads {

/// Holds the bags of the features whose rows a rank requests, without the ids of hot rows, which it does not; the other
/// rows of their tables are counted from the first one. Where no rows are hot, the bags of all features are as they
/// came.
class RequestedBags {
 public:
  /// Takes `modes`: by strip.
  RequestedBags(const ShardLayout& layout, const std::vector<placement::RowTransfer>& modes, std::int64_t features);

  /// Takes the bags of a step; what the following return holds until the next call.
  void set(const StepInput& input);
  const kernels::Bags<Execution, std::int64_t>& bags() const { return bags_; }
  /// Returns [features]: the number of ids of each among them.
  const std::vector<std::int64_t>& ids() const { return ids_; }

 private:
  std::vector<bool> requested_;               ///< [features]
  ConstDeviceArray<std::int64_t> first_row_;  ///< [features]; empty where no rows are hot
  HostList<std::int64_t> first_bag_;          ///< [features + 1] among the bags of those that are requested
  HostResult<std::int64_t> first_id_;         ///< [features + 1]
  kernels::LaterRowsWorkspace<Execution> workspace_;
  kernels::Bags<Execution, std::int64_t> bags_;
  std::vector<std::int64_t> ids_;
};

/// Counts what dedup does to the rows of a step.
struct RowCounts {
  std::int64_t ids = 0;        ///< of this rank's samples, but of hot rows
  std::int64_t requested = 0;  ///< rows that it requests, from whatever rank
  std::int64_t read = 0;       ///< rows that it reads from its tables for all who request them

  RowCounts& operator+=(const RowCounts& other) {
    ids += other.ids;
    requested += other.requested;
    read += other.read;
    return *this;
  }
};

/// Is the requester of RowTransfer::unique_rows: a rank requests each distinct row of its samples from the owner once,
/// whatever feature reads it, pools the rows that come, and returns the sum of each row's gradients. Lengths and
/// weights of bags stay at home, so every pooling works, max of row-split tables included. The phases are collective.
class HomeRows {
 public:
  HomeRows(const comm::Communicator& comm, comm::Exchange& exchange, Wire& wire, const ShardedTables& tables,
           const ShardLayout& layout, const std::vector<placement::RowTransfer>& modes, placement::Dedup dedup);

  /// Returns whether any rows of the plan travel one by one.
  bool any() const { return !shards_.empty(); }

  /// Finds the distinct rows and sends the owners their numbers.
  void request(const StepInput& input);
  /// Return the hop between this rank and the owners: what other ranks, and itself, request from this rank, and what it
  /// requests from owners.
  RowHop& held() { return owners_; }
  const RowHop& held() const { return owners_; }
  /// Returns the distinct rows that its samples request: from the owners, or from ranks of its node.
  const DistinctRows& requested() const { return (node_ ? node_->homes() : owners_).requested(); }
  /// Return the local shards whose rows others may request, and whether each row is read once for all who request it.
  std::vector<std::int64_t> held_shards() const;
  bool reads_once() const { return owner_ != nullptr; }
  RowCounts counts() const { return {positions_, requested().count(), owner_ ? owner_->count() : owners_.held_rows()}; }
  std::int64_t shards() const { return std::ssize(shards_.shards); }
  const RowShard& shard(std::int64_t number) const { return shards_.shards[number]; }

  /// Lists the blocks and pieces that the kernels take. By feature: where pool() writes among the vectors, and where
  /// gradients lie; behind the gradients, their end.
  void lay_out(const StepInput& input, const std::vector<std::int64_t>& pooled_begin,
               const std::vector<std::int64_t>& gradient_begin);

  /// Returns the owner's part when it reads a row once for all who request it (dedup owner): find() takes the requested
  /// ids, bags of one, as AnsweredRows::list; read() then fills `held`. It is null without this dedup, and a lookup of
  /// these bags fills `held`.
  OwnerRows* owner() { return owner_.get(); }

  /// Receives rows from the owners and returns them; `held`: the rows that are requested from this rank.
  DeviceArray<float> receive(const DeviceArray<float>& held);
  /// Pools these rows for the bags of all strips that travel row by row: the results are outputs, before they are
  /// divided, or partial sums beside those of hot rows.
  void pool(const DeviceArray<float>& vectors);
  /// Sends the sums of the gradients of each row to the owners. vectors: of pool().
  void return_gradients(const DeviceArray<float>& vectors, const ConstDeviceArray<float>& gradients,
                        const DeviceArray<float>& held);

 private:
  PositionKeys list_positions(const StepInput& input);
  void place_groups();
  void list_rows();
  void add_strip(std::size_t number, std::int64_t bags, std::int64_t output, std::int64_t gradient,
                 std::int64_t gradients_end);

  const ShardedTables& tables_;
  const ShardLayout& layout_;
  placement::Dedup dedup_;
  RowShards shards_;
  RequestedBags requested_bags_;
  RowHop owners_;
  std::unique_ptr<NodeRows> node_;    ///< with Dedup::node
  std::unique_ptr<OwnerRows> owner_;  ///< when rows are read once
  std::int64_t most_strips_ = 0;      ///< of a feature
  std::int64_t largest_max_dim_ = 0;

  // Of the current step: bags and positions by strip.
  std::int64_t positions_ = 0;
  HostList<std::int64_t> first_of_strip_, position_shift_;
  DeviceScratch<std::int64_t> offsets_scratch_{"shardmark::home_offsets"}, keys_{"shardmark::home_keys"};
  DeviceScratch<std::int32_t> tags_{"shardmark::home_tags"}, slots_{"shardmark::home_slots"};
  DeviceScratch<std::int64_t> any_ids_{"shardmark::home_any_ids"};
  DeviceScratch<float> weights_scratch_{"shardmark::home_weights"};
  DeviceArray<std::int64_t> offsets_;
  DeviceArray<float> weights_;

  // Rows of a group lie together, by shard.
  std::vector<std::int64_t> group_begin_;  ///< [groups] element of the first row
  std::vector<std::int64_t> group_row_;    ///< [row shards] number of the shard's first row in its group
  DeviceScratch<float> packed_scratch_{"shardmark::rows_received"}, rows_scratch_{"shardmark::home_rows"};
  DeviceArray<float> packed_, rows_;
  HostList<kernels::VectorPiece> pieces_;
  HostList<kernels::Partial> partials_;
  HostList<std::int64_t> row_shift_;  ///< [row shards] from the number among all distinct rows to that in the group
  DeviceScratch<std::int64_t> indices_scratch_{"shardmark::home_indices"};
  DeviceArray<std::int64_t> indices_;  ///< [positions] row in its group

  HostList<kernels::LookupBlock> lookups_;
  HostList<kernels::GradientBlock> gradients_;
  HostList<kernels::PooledGradient> maxima_;
  DeviceScratch<std::int64_t> gradient_offsets_{"shardmark::home_gradient_offsets"};
  DeviceScratch<float> max_gradients_{"shardmark::home_max_gradients"};
  DeviceScratch<float> packed_gradients_{"shardmark::row_gradients_sent"};
  DeviceScratch<float> node_rows_{"shardmark::node_rows"}, node_gradients_{"shardmark::node_row_gradients"};
  kernels::RowGradientsWorkspace<Execution> workspace_;
};

}  // namespace shardmark::workloads
