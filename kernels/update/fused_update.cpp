// SPDX-License-Identifier: Apache-2.0
#include "kernels/update/fused_update.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/update/device_row_update.hpp"
#include "kernels/update/for_each_row_gradient.hpp"

namespace shardmark::kernels {

/// Updates on the host a run of rows.
template <class Exec>
struct ApplyOptimizer {
  UpdateStep now;
  RowSums<Exec> given;

  template <class Run>
  KOKKOS_FUNCTION void operator()(const UpdateShard& shard, const Run& run) const {
    with_step(shard.optimizer, now.number, [&](const auto& step) {
      with_value_and_dim(shard, [&](auto value, auto dim) { rows<decltype(value)>(shard, run, step, dim); });
    });
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION bool sums_given(const UpdateShard& shard) const {
    return shard.dim != shard.full_dim && given.values.extent(0) > 0;
  }

  template <class Value, class Run, class Step, class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void rows(const UpdateShard& shard, const Run& run, const Step& step, Dim dim) const {
    const std::int64_t state_size = state_per_row(Step::kind, dim);
    const auto values = static_cast<Value*>(shard.rows);
    const DecayFactors decay(shard.optimizer);
    const auto columns = static_cast<float>(shard.full_dim);
    const bool with_given = sums_given(shard);
    const std::uint64_t table_bits = random_bits(now.seed, now.number, shard.table);
    // Inlined by force: 5 % of the time of (a) and (c).
    run.for_each(
        dim, PrefetchRow<Value, Dim>{values, shard.state, dim, state_size},
        [&](std::int64_t u, std::int64_t row, const auto& tile) __attribute__((always_inline)) {
          const RowUpdate<Step, Value, Dim> update{decay, values + row * dim, shard.state + row * state_size, dim};
          const Rounding<Value> rounding{table_bits, shard, row};
          if constexpr (row_sum_count(Step::kind) > 0) {
            const double* sums = given.values.data() + u * given.per_row;
            const SumsOfRow whole =
                with_given ? SumsOfRow{static_cast<float>(sums[0]), static_cast<float>(sums[given.per_row - 1])}
                           : update.sums(step, tile);
            float* scalar = update.state + update.vectors * dim;
            update.apply(step.for_row(whole, columns, *scalar), tile, rounding);
          } else {
            update.apply(step, tile, rounding);
          }
        });
  }
};

template <class Exec>
void fused_update(const Exec& exec, const RowGradients<Exec>& gradients, const ShardList<Exec, UpdateShard>& shards,
                  const UpdateStep& step, RowGradientsWorkspace<Exec>& workspace, const RowSums<Exec>& given) {
  const std::string label = "shardmark::fused_update";
  if constexpr (on_device<Exec>) {
    if (gradients.unique.positions() == 0) return;
    const auto source = device::row_source(label, exec, gradients, shards, workspace);
    const double* sums = given.values.extent(0) > 0 ? given.values.data() : nullptr;
    device::for_each_update(
        shards, step,
        [&](const auto& rule, auto value, const auto& decay, const auto& range, std::int64_t largest_dim) {
          device::for_each_row(label, exec, source, range, largest_dim,
                               device::UpdateRows<std::decay_t<decltype(rule)>, decltype(value)>{rule, decay, step,
                                                                                                 sums, given.per_row});
        });
  } else {
    for_each_row_gradient(label, exec, gradients, shards, workspace, ApplyOptimizer<Exec>{step, given});
  }
}

SHARDMARK_INSTANCE(fused_update<DefaultSpace>)

}  // namespace shardmark::kernels
