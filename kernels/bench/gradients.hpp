// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/bench/suite.hpp"
#include "kernels/route/expand_positions.hpp"
#include "kernels/update/fused_update.hpp"

namespace shardmark::kernels::bench {

/// The gradients of the pooled outputs as they come home.
struct Gradients {
  Array<Exec, float> values;  ///< [tables, batch, dim]
  Array<Exec, GradientBlock> blocks;
};
Gradients gradients_of(const Suite& suite);

/// A shard for every table of the current problem, all that is theirs alone added to `like`.
ShardList<Exec, UpdateShard> shards_of(const Suite& suite, const UpdateShard& like, const WordRows& rows, float* state);

}  // namespace shardmark::kernels::bench
