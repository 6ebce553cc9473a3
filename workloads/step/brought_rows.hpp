// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/dynamic/key_numbers.hpp"
#include "kernels/sort/shard_keys.hpp"
#include "kernels/sort/shard_segments.hpp"
#include "workloads/tables/sharded_tables.hpp"

namespace shardmark::workloads {

/// Brings the rows of a step of tables whose rows come and go (Store::bring): finds each distinct key once, and lets
/// its place stand for it in all ids of the step, for the lookup and the update alike.
class BroughtRows {
 public:
  /// layout: of a group. Both outlive the object.
  BroughtRows(const ShardedTables& tables, const ShardLayout& layout);

  /// Returns whether any table of the group is one of these.
  bool any() const { return !brought_.empty(); }

  /// Replaces the first `count` of the ids, keys until now, by the places of their rows in step `step`. blocks: of all
  /// bags; keys, numbers: room for all ids. Waits for the device.
  void bring(std::int64_t step, const ConstDeviceArray<kernels::GradientBlock>& blocks, const BagIds& bags,
             std::int64_t count, DeviceScratch<std::int64_t>& keys, DeviceScratch<std::int64_t>& numbers,
             kernels::UniqueRowsWorkspace<Execution>& workspace);
  /// Does the same where sort_shards is to sort the ids, whose gradients are among `gradients`, on the host.
  void bring_by_shard(std::int64_t step, const ConstDeviceArray<kernels::ShardBlocks>& shards,
                      const ConstDeviceArray<kernels::GradientBlock>& blocks, const BagIds& bags, std::int64_t count,
                      const ConstDeviceArray<float>& gradients);
  /// Does the same where keys of some tables are any integers, which do not fit into the words of a sort.
  void bring_any(std::int64_t step, const ConstDeviceArray<kernels::ShardBlocks>& shards,
                 const ConstDeviceArray<kernels::GradientBlock>& blocks, const BagIds& bags, std::int64_t count);
  /// Returns what bring_by_shard() leaves to sort_shards; empty where no table of the group is one of these.
  const ConstDeviceArray<std::uint64_t>& placed() const { return placed_; }
  /// Ends the step.
  void end(std::int64_t step) const;

 private:
  const ShardedTables& tables_;
  const ShardLayout& layout_;
  std::vector<std::size_t> brought_;  ///< places in ShardLayout::exchanged
  ConstDeviceArray<std::int64_t> first_keys_, no_shift_;
  kernels::ShardSegments<Execution> segments_;
  kernels::ShardKeysWorkspace<Execution> by_shard_;
  kernels::KeyNumbers<Execution> numbers_;
  std::vector<std::int64_t> first_numbers_;  ///< by shard of the blocks
  ConstDeviceArray<std::uint64_t> placed_;
  DeviceScratch<std::int64_t> distinct_{"shardmark::brought_keys"}, places_{"shardmark::brought_places"};
};

}  // namespace shardmark::workloads
