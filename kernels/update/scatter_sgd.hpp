// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/update/update_shard.hpp"

namespace shardmark::kernels {

/// Returns whether the rows of a shard may be changed position by position: without weight decay, sgd is a sum of
/// terms, and only fp32 values round each of them as finely as their sum.
constexpr bool can_scatter(const UpdateShard& shard) {
  return shard.optimizer.kind == OptimizerKind::sgd && shard.optimizer.weight_decay == 0.0F &&
         shard.value_type == ValueType::fp32;
}

template <class Exec>
struct ScatterWorkspace {
  Array<Exec, std::uint32_t> locks;  ///< one for the rows whose keys share a hash; 0 when free
};

/// Subtracts lr weight g from the row w of every position in whatever order: sgd without sorting, for shards that
/// can_scatter. The result is within the bound of any order of summation, but the bits differ from run to run on more
/// than one thread.
///   keys, gradient_offset: of expand_positions;  weights: [positions], or empty;  gradients: as in RowGradients
template <class Exec>
void scatter_sgd(const Exec& exec, ConstArray<Exec, std::int64_t> keys, ConstArray<Exec, std::int64_t> gradient_offset,
                 ConstArray<Exec, float> weights, ConstArray<Exec, float> gradients,
                 const ShardList<Exec, UpdateShard>& shards, ScatterWorkspace<Exec>& workspace);

}  // namespace shardmark::kernels
