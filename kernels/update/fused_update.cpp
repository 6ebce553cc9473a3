// SPDX-License-Identifier: Apache-2.0
#include "kernels/update/fused_update.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/update/device_row_update.hpp"
#include "kernels/update/for_each_row_gradient.hpp"

namespace shardmark::kernels {

template <class Exec>
struct ApplyOptimizer {
  UpdateStep now;
  RowSums<Exec> given;

  /// Updates on the host a run of rows.
  template <class Run>
  KOKKOS_FUNCTION void operator()(const UpdateShard& shard, const Run& run) const {
    with_step(shard.optimizer, now.number, [&](const auto& step) {
      with_value_and_dim(shard, [&](auto value, auto dim) { rows<decltype(value)>(shard, run, step, dim); });
    });
  }

  /// Updates on a device the columns of one row.
  template <class Columns>
  KOKKOS_FUNCTION void operator()(const UpdateShard& shard, std::int64_t u, std::int64_t row,
                                  const Columns& columns) const {
    device::with_step_and_value(shard, now, [&](const auto& step, auto value) {
      using Step = std::decay_t<decltype(step)>;
      const device::RowInShard<Step, decltype(value)> in_shard(shard, row);
      if constexpr (row_sum_count(Step::kind) > 0)
        apply_with_sums(in_shard, step, u, columns);
      else
        columns.for_each([&](std::int64_t c, float g) { in_shard.apply(now, step, c, g); });
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

  template <class Row, class Step, class Columns>
  KOKKOS_FORCEINLINE_FUNCTION void apply_with_sums(const Row& row, const Step& step, std::int64_t u,
                                                   const Columns& columns) const {
    const UpdateShard& shard = row.shard;
    const bool with_given = sums_given(shard);
    float sums[2] = {};
    for (int k = 0; k < row_sum_count(Step::kind); ++k)
      sums[k] = static_cast<float>(with_given ? given.values(u * given.per_row + k) : row.sum(step, columns, k));
    float* place = row.update.state + Row::choice.vectors * shard.dim;
    float scalar = Row::choice.scalars > 0 ? columns.read(place) : 0.0F;
    const auto row_step = step.for_row(SumsOfRow{sums[0], sums[1]}, static_cast<float>(shard.full_dim), scalar);
    columns.for_each([&](std::int64_t c, float g) {
      row.apply(now, row_step, c, g);
      if (Row::choice.scalars > 0 && c == 0) *place = scalar;
    });
  }
};

template <class Exec>
void fused_update(const Exec& exec, const RowGradients<Exec>& gradients, const ShardList<Exec, UpdateShard>& shards,
                  const UpdateStep& step, RowGradientsWorkspace<Exec>& workspace, const RowSums<Exec>& given) {
  for_each_row_gradient("shardmark::fused_update", exec, gradients, shards, workspace,
                        ApplyOptimizer<Exec>{step, given});
}

#define FUSED_UPDATE_ON(Exec) SHARDMARK_INSTANCE(fused_update<Exec>)
SHARDMARK_ON_EACH_SPACE(FUSED_UPDATE_ON)

}  // namespace shardmark::kernels
