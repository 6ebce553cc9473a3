// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/exchange.hpp"
#include "comm/exchange/progress_thread.hpp"
#include "comm/placement/traffic/movement.hpp"
#include "kernels/route/bucketize.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/batches/step_input.hpp"
#include "workloads/transfer/unique_rows/home_rows.hpp"
#include "workloads/transfer/vector_route.hpp"
#include "workloads/transfer/wire.hpp"

namespace shardmark::workloads {

/// Holds the bags that this rank looks up: first, as bags of one id, the rows that others (and itself) request from it,
/// see RowHop; then those of its slots, by (source rank, own slot, bag), of slots with RowTransfer::sparse_partials
/// only the ones that hold an id; then its own samples' bags of replicated features, with the ids of replicated rows.
/// Ids are local rows of the shard.
struct OwnedIds : BagIds {
  std::int64_t rows = 0;           ///< that are requested one by one
  std::int64_t exchanged_ids = 0;  ///< with these
  /// These count, for the lengths that this rank sent, by (slot, bag), the vectors before each; empty when every bag
  /// has one.
  ConstDeviceArray<std::int64_t> vectors_before;
};

/// Runs the input_dist phase: ids go to the owners of their rows. Sizes are not agreed on beforehand: lengths travel
/// first, and their sum is the size of what follows.
class InputDist {
  using HostCounts = HostResult<std::int64_t>;

 public:
  /// Takes `modes`: by strip of the layout. All outlive the object.
  InputDist(const comm::Communicator& comm, comm::ProgressThread& progress, comm::Exchange& exchange,
            const ShardLayout& layout, const ShardedTables& tables, const std::vector<placement::RowTransfer>& modes,
            placement::IdType id_type);

  /// Counts the bags per rank and feature. Collective only when a feature is not pooled, for then they depend on the
  /// ids.
  BagCounts count_bags(const StepInput& input);

  /// Lays out the lengths; to be called when the counts have changed, before run().
  void lay_out(const BagCounts& bags);

  /// Exchanges the ids. Collective. The result is valid until the next call.
  OwnedIds run(const StepInput& input, HomeRows& rows);

  /// Returns the vectors of the bags of the last run().
  const VectorCounts& vector_counts() const { return counts_; }

  /// Returns the number of bags of the last run(), block after block of one source and shard, in the order of OwnedIds.
  std::vector<std::int64_t> owned_blocks() const;

  /// Returns a bound of the ids that any rank sends or receives.
  std::int64_t id_bound(const StepInput& input) const { return input.global_ids * most_strips_; }

 private:
  void bucketize(const StepInput& input);
  comm::Route id_route(const StepInput& input) const;
  placement::RowTransfer mode(const Slot& slot) const { return modes_[slot.strip]; }
  bool only_touched(const Slot& slot) const { return mode(slot) == placement::RowTransfer::sparse_partials; }
  void receive_lengths();
  void read(const ConstDeviceArray<std::int64_t>& values, const ConstDeviceArray<std::int64_t>& at,
            const HostCounts& host);
  ConstDeviceArray<std::int64_t> count(const DeviceArray<std::int32_t>& lengths,
                                       const ConstDeviceArray<std::uint8_t>& only_touched,
                                       const ConstDeviceArray<std::int64_t>& begins,
                                       DeviceScratch<std::int64_t>& scratch, const HostCounts& host,
                                       std::vector<std::int64_t>& vectors);
  void scan_lengths(OwnedIds& owned);
  DeviceArray<float> receive_weights(const comm::Route& route, std::int64_t rows, std::int64_t own);

  const comm::Communicator& comm_;
  comm::ProgressThread& progress_;
  comm::Exchange& exchange_;
  const ShardLayout& layout_;
  const std::vector<Feature>& features_;
  const std::vector<placement::RowTransfer>& modes_;  ///< by strip
  bool some_touched_only_ = false;
  std::int64_t most_strips_ = 1;
  std::vector<std::int64_t> asked_apart_;  ///< features with hot rows whose others are requested one by one
  kernels::RowOwners<Execution> owners_;
  kernels::KnownStrips known_strips_;   ///< of owners_, its counts those of the current step
  std::vector<std::int64_t> bucketed_;  ///< features by strip of owners_

  // Of the current bag counts.
  comm::Route length_route_;
  std::int64_t sent_bags_ = 0, owned_bags_ = 0;
  std::int64_t first_replicated_bags_ = 0;  ///< of the first replicated feature
  HostList<std::int64_t> slot_begin_;       ///< [slots + replicated features + asked_apart_ + 1] in those that are sent
  HostList<std::int64_t> source_bags_;      ///< [ranks + 1] in those that are received
  HostList<std::int64_t> block_begin_;      ///< [ranks x own slots + 1] there, by (source, own slot)
  HostList<std::uint8_t> sent_touched_only_, owned_touched_only_;  ///< by bag: 1 when it must hold an id

  // Of the current step.
  bool weighted_ = false;
  std::int64_t bucketed_ids_ = 0;
  HostCounts slot_counts_;  ///< known when source_ids_ are
  bool counts_slots_ = false;
  VectorCounts counts_;
  HostCounts source_ids_;     ///< [ranks + 1] where the ids of each source begin among OwnedIds
  HostCounts sent_vectors_;   ///< as slot_begin_: vectors before
  HostCounts block_vectors_;  ///< as block_begin_: vectors before
  kernels::BucketizeWorkspace<Execution> workspace_;
  DeviceScratch<std::uint32_t> sum_workspace_{"shardmark::sum_lengths"};
  DeviceScratch<std::int32_t> lengths_sent_{"shardmark::lengths_sent"}, lengths_{"shardmark::lengths"};
  IdWire id_wire_;
  DeviceScratch<std::int64_t> ids_{"shardmark::ids"};
  DeviceScratch<float> weights_sent_{"shardmark::weights_sent"}, weights_{"shardmark::weights"};
  DeviceScratch<std::int64_t> offsets_{"shardmark::owned_offsets"};
  DeviceScratch<std::int64_t> sent_before_{"shardmark::sent_vectors_before"};
  DeviceScratch<std::int64_t> owned_before_{"shardmark::owned_vectors_before"};
  DeviceScratch<std::int64_t> source_vectors_{"shardmark::source_vectors"};
};

}  // namespace shardmark::workloads
