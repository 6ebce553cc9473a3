// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/fused_update.hpp"

namespace shardmark::kernels {

template <class Exec>
struct StoreRowSums {
  UpdateStep now;
  Array<Exec, double> sums;
  std::int64_t per_row;

  template <class Run>
  KOKKOS_FUNCTION void operator()(const UpdateShard& shard, const Run& run) const {
    if (shard.dim == shard.full_dim) return;
    with_step(shard.optimizer, now.number, [&](const auto& step) {
      using Step = std::decay_t<decltype(step)>;
      if constexpr (row_sum_count(Step::kind) > 0)
        with_value_and_dim(shard, [&](auto value, auto dim) { rows<decltype(value)>(shard, run, step, dim); });
    });
  }

 private:
  template <class Value, class Run, class Step, class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void rows(const UpdateShard& shard, const Run& run, const Step& step, Dim dim) const {
    const std::int64_t state_size = state_per_row(Step::kind, dim);
    const auto values = static_cast<Value*>(shard.rows);
    const DecayFactors decay(shard.optimizer);
    const auto store = [&](const auto& prefetch_row, auto of_gradient) {
      run.for_each(dim, prefetch_row, [&](std::int64_t u, std::int64_t row, const auto& tile) {
        const RowUpdate<Step, Value, Dim> update{decay, values + row * dim, shard.state + row * state_size, dim};
        const RowSums own = update.template sums<of_gradient>(step, tile);
        sums(u * per_row) = own.first;
        if (row_sum_count(Step::kind) > 1) sums(u * per_row + 1) = own.second;
      });
    };
    if constexpr (Step::kind != OptimizerKind::lamb)
      if (decay.l2 == 0.0F) return store(NoPrefetch{}, std::true_type{});
    store(PrefetchRow<Value, Dim>{values, shard.state, dim, state_size}, std::false_type{});
  }
};

/// sums[u * per_row + k] = sum k that the optimizer of distinct row u needs, over the columns held here, in double:
///   rowwise_adagrad, rowwise_adam  sum of g^2 (with l2 weight decay in g)
///   lamb                           sum of w^2, sum of r^2
/// for tables split by columns, whose holders add their sums before fused_update. Rows of whole tables, and of
/// optimizers that need no sums, get none. Changes neither rows nor state. sums: [positions * per_row];
/// per_row >= row_sum_count of every shard that holds only some columns.
template <class Exec, class Unique, class GradientOffset>
requires on_host<Exec>
void row_sums(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
              const ShardList<Exec, UpdateShard>& shards, const UpdateStep& step,
              RowGradientsWorkspace<Exec>& workspace, Array<Exec, double> sums, std::int64_t per_row) {
  for_each_row_gradient("shardmark::row_sums", exec, gradients, shards, workspace,
                        StoreRowSums<Exec>{step, sums, per_row});
}

/// Reads what fused_update reads, writes the sums.
constexpr Work row_sums_work(const UpdateCounts& counts, bool weighted, std::int64_t per_row) {
  const Work update = fused_update_work(counts, weighted);
  return {.bytes_read = update.bytes_read, .bytes_written = counts.unique * per_row * 8, .flops = update.flops};
}

}  // namespace shardmark::kernels
