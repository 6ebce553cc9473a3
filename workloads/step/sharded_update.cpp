// SPDX-License-Identifier: Apache-2.0
// The update phase of ShardedEmbedding.
#include "kernels/fused_update.hpp"
#include "workloads/step/commit_fault.hpp"
#include "workloads/step/sharded_embedding.hpp"

namespace shardmark {
void ShardedEmbedding::update(const StepInput& input, const kernels::UpdateStep& now, PhaseClock& clock) {
  const Execution exec;
  sent_.begin(Phase::update);
  const auto ids = static_cast<std::int64_t>(owned_.ids.extent(0));
  kernels::expand_positions(exec, blocks_.gradients, ConstDeviceArray<std::int64_t>(owned_.offsets), owned_.ids,
                            keys_.first(ids), gradient_offsets_.first(ids));
  update_exchanged(input, now);
  if (!replicated_.empty()) update_replicated(now);
  exec.fence("shardmark: the step is complete");
  clock.end(Phase::update);
}

/// The gradients, and behind them those of the ids of bags pooled by max.
ConstDeviceArray<float> ShardedEmbedding::with_max_gradients(const ConstDeviceArray<kernels::PooledGradient>& blocks,
                                                             ConstDeviceArray<float> gradients) {
  if (blocks.extent(0) == 0) return gradients;
  const Execution exec;
  const auto ids = static_cast<std::int64_t>(owned_.ids.extent(0));
  const auto size = static_cast<std::int64_t>(gradients.extent(0));
  const auto all = max_gradients_.first(size + ids * blocks_.largest_max_dim);
  Kokkos::deep_copy(exec, part(all, 0, size), gradients);
  kernels::max_gradients<Execution>(exec, blocks, owned_.offsets, owned_.ids, owned_.weights, vectors_, gradients, all);
  return all;
}

void ShardedEmbedding::update_exchanged(const StepInput& input, const kernels::UpdateStep& now) {
  const Execution exec;
  const auto ids = static_cast<std::int64_t>(owned_.ids.extent(0));
  const std::int64_t exchanged = owned_.exchanged_ids;
  const auto gradients = with_max_gradients(blocks_.exchanged_maxima, owner_gradients_);
  const auto weights = owned_.weights.extent(0) > 0 ? part(owned_.weights, 0, exchanged) : owned_.weights;
  const auto row_gradients = kernels::sorted_row_gradients<Execution>(
      exec, part(keys_.first(ids), 0, exchanged), exchanged_keys_, part(gradient_offsets_.first(ids), 0, exchanged),
      weights, gradients, unique_workspace_);
  kernels::RowSums<Execution> whole_rows;
  if (const std::int64_t width = row_sum_exchange_.width(); width > 0) {
    const auto sums = sums_.first(exchanged * width);
    kernels::row_sums(exec, row_gradients, exchanged_shards_, now, gradients_workspace_, sums, width);
    row_sum_exchange_.complete(row_gradients.unique, sums, ids_->peak_ids(input));
    whole_rows = {sums, width};
  }
  if (fault_ == Fault::update) decrement(row_gradients.unique.total);
  kernels::fused_update(exec, row_gradients, exchanged_shards_, now, gradients_workspace_, whole_rows);
}

void ShardedEmbedding::update_replicated(const kernels::UpdateStep& now) {
  const auto ids = static_cast<std::int64_t>(owned_.ids.extent(0));
  const std::int64_t begin = owned_.exchanged_ids;
  const bool faulty = fault_ == Fault::update ? layout_.slots.empty() : blocks_.places().packed_size == 0;
  replicated_.run({.keys = part(keys_.first(ids), begin, ids),
                   .gradient_offsets = part(gradient_offsets_.first(ids), begin, ids),
                   .weights = owned_.weights.extent(0) > 0 ? part(owned_.weights, begin, ids) : owned_.weights,
                   .gradients = with_max_gradients(blocks_.replicated_maxima, gradients_)},
                  now, faulty ? fault_ : Fault::none);
}

}  // namespace shardmark
