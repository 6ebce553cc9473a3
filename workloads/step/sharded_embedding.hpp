// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "kernels/bag_divisor.hpp"
#include "kernels/fused_update.hpp"
#include "kernels/pooled_lookup.hpp"
#include "workloads/cases/movement.hpp"
#include "workloads/step/input_dist.hpp"
#include "workloads/step/step_layout.hpp"
#include "workloads/tables/sharded_tables.hpp"
#include "workloads/transfer/replicated/replicated_update.hpp"
#include "workloads/transfer/row_sum_exchange.hpp"
#include "workloads/transfer/sent_bytes.hpp"
#include "workloads/transfer/transfer.hpp"

namespace shardmark {

/// What the embeddings of all groups of a case share; it outlives them.
struct CaseContext {
  const Communicator& comm;
  Lane& lane;
  Wire& wire;
  ShardedTables& tables;
  const Plan& plan;
  const Movement& movement;
  Fault fault = Fault::none;
};

/// The phases of a step on tables that a plan spreads over the ranks, except the dense one, for the features of one
/// group. Each is collective and continues where the one before stopped; training_step.hpp calls them in order.
class ShardedEmbedding {
 public:
  /// layout: of the group's features. Throws InputError when the movement cannot carry the plan.
  ShardedEmbedding(const CaseContext& context, ShardLayout layout);

  void input_dist(const StepInput& input, PhaseClock& clock);
  void lookup(const StepInput& input, PhaseClock& clock);
  void output_dist(const StepInput& input, PhaseClock& clock);
  /// `gradients`: of every pooled output, [bags, dim] of each feature in turn (StepInput::first_element).
  void grad_dist(const StepInput& input, ConstDeviceArray<float> gradients, PhaseClock& clock);
  void update(const StepInput& input, const kernels::UpdateStep& now, PhaseClock& clock);

  /// Pooled outputs [bags, dim] of a feature for this rank's samples; valid from output_dist to the next input_dist.
  DeviceArray<float> output(const StepInput& input, std::int64_t feature) const;

  /// Of the current step, where rows travel one by one.
  RowCounts row_counts() const { return rows_ && rows_->any() ? rows_->counts() : RowCounts{}; }

  /// What this rank has sent in the current step, complete after update().
  const SentBytes& sent() const { return sent_; }

  /// Bytes of memory that the lookup of the current step must read and write, every row that is used once; to be asked
  /// after update(). Sorts the ids, so not for timed steps.
  std::int64_t lookup_bytes();

  /// What an exchange that chooses among others chose: Exchange::picked().
  std::string picked() const { return exchange_->picked(); }

  /// What dedup auto chose for rows that travel one by one, empty for other dedups or without such rows.
  std::string picked_dedup() const;

 private:
  void divide(const StepInput& input, const std::vector<std::int64_t>& vectors_begin, bool replicated_too,
              const DeviceArray<float>& vectors) const;
  void set_modes(std::vector<RowTransfer> modes, Dedup dedup);
  void decide(const StepInput& input);
  void update_exchanged(const StepInput& input, const kernels::UpdateStep& now);
  void update_replicated(const kernels::UpdateStep& now);
  kernels::ShardList<Execution, kernels::UpdateShard> shards_where(bool replicated, std::int64_t& keys) const;
  ConstDeviceArray<float> with_max_gradients(const ConstDeviceArray<kernels::PooledGradient>& blocks,
                                             ConstDeviceArray<float> gradients);

  CaseContext context_;
  const Communicator& comm_;
  Lane& lane_;
  ShardedTables& tables_;
  ShardLayout layout_;
  Fault fault_;
  SentBytes sent_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<Transfer> transfer_;
  std::vector<RowTransfer> modes_;  ///< by strip
  Dedup dedup_ = Dedup::local;
  std::optional<InputDist> ids_;  ///< where the first batch decides, made then
  std::optional<HomeRows> rows_;
  RowSumExchange row_sum_exchange_;
  ReplicatedUpdate replicated_;
  bool divides_ = false;  ///< some feature of the group pools by mean or sqrtn

  // Of the current counts of bags and vectors.
  BagCounts bags_;
  VectorCounts counts_;
  std::vector<std::int64_t> held_shards_;  ///< local shards of which others ask for rows
  StepLayout blocks_;
  DeviceArray<float> vectors_, packed_gradients_, owner_gradients_;
  DeviceScratch<float> vectors_scratch_{"shardmark::vectors"};
  DeviceScratch<float> packed_gradients_scratch_{"shardmark::packed_gradients"};
  DeviceScratch<float> owner_gradients_scratch_{"shardmark::owner_gradients"};

  kernels::ShardList<Execution, kernels::UpdateShard> exchanged_shards_;  ///< those that hold parts of tables
  std::int64_t exchanged_keys_ = 0;

  // Of the current step.
  OwnedIds owned_;
  ConstDeviceArray<float> gradients_;
  DeviceScratch<float> divided_gradients_{"shardmark::divided_gradients"};
  DeviceScratch<float> max_gradients_{"shardmark::max_gradients"};
  DeviceScratch<std::int64_t> keys_{"shardmark::keys"}, gradient_offsets_{"shardmark::gradient_offsets"};
  DeviceScratch<double> sums_{"shardmark::row_sums"};
  kernels::UniqueRowsWorkspace<Execution> unique_workspace_;
  kernels::RowGradientsWorkspace<Execution> gradients_workspace_;
};

}  // namespace shardmark
