// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/bench/suite.hpp"
#include "kernels/route/expand_positions.hpp"
#include "kernels/update/fused_update.hpp"
#include "reference/row_values.hpp"

namespace shardmark::kernels::bench {

/// The gradients of the pooled outputs as they come home.
struct Gradients {
  Array<Exec, float> values;  ///< [tables, batch, dim]
  Array<Exec, GradientBlock> blocks;
};
inline Gradients gradients_of(const Suite& suite) {
  const Problem& problem = suite.problem();
  const std::int64_t dim = problem.shape.dim;
  std::vector<GradientBlock> blocks;
  for (std::int64_t t = 0; t < problem.tables(); ++t)
    blocks.push_back({.first_bag = t * problem.batch,
                      .bags = problem.batch,
                      .first_key = problem.first_key[t],
                      .gradient = t * problem.batch * dim,
                      .gradient_stride = dim});
  const auto values = allocate<Exec, float>("shardmark::bench_gradients", problem.elements());
  const RowValues gradient{.seed = 3, .scale = 0x1p-4F};
  Kokkos::parallel_for(
      "shardmark::bench_gradients", static_range(suite.exec(), problem.elements()),
      KOKKOS_LAMBDA(const std::int64_t i) { values(i) = gradient(0, i / dim, i % dim); });
  return {values, array_of(suite.exec(), blocks, "shardmark::bench_gradient_blocks")};
}

/// A shard for every table of the current problem, all that is theirs alone added to `like`.
inline ShardList<Exec, UpdateShard> shards_of(const Suite& suite, const UpdateShard& like, const WordRows& rows,
                                              float* state) {
  const Problem& problem = suite.problem();
  std::vector<UpdateShard> shards(problem.table_rows.size(), like);
  for (std::size_t t = 0; t < shards.size(); ++t) {
    shards[t].rows = rows.words + problem.first_key[t] * rows.row_words;
    shards[t].state = state + problem.first_key[t] * state_per_row(like.optimizer.kind, like.dim);
    shards[t].first_key = problem.first_key[t];
    shards[t].table = static_cast<std::int64_t>(t);
  }
  return shard_list(suite.exec(), shards);
}

}  // namespace shardmark::kernels::bench
