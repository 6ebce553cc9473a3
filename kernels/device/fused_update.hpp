// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/row_gradients.hpp"
#include "kernels/fused_update.hpp"

namespace shardmark::kernels::device {

/// One row of a shard, element by element.
template <class Step, class Value>
struct RowInShard {
  static constexpr OptimizerChoice choice = choice_of(Step::kind);

  const UpdateShard& shard;
  std::int64_t row;
  RowUpdate<Step, Value, std::int64_t> update;

  KOKKOS_FUNCTION RowInShard(const UpdateShard& in, std::int64_t local_row)
      : shard(in),
        row(local_row),
        update{DecayFactors(in.optimizer), static_cast<Value*>(in.rows) + local_row * in.dim,
               in.state + local_row * (choice.vectors * in.dim + choice.scalars), in.dim} {}

  template <class RowStep>
  KOKKOS_FORCEINLINE_FUNCTION void apply(const UpdateStep& now, const RowStep& step, std::int64_t c, float g) const {
    auto e = update.template load<float>(c, &g, 1);
    const float next = fused(-update.decay.decoupled, e.w, step(e.w, e.g, e.m, e.v));
    update.values[c] = Rounding<Value>{now, shard, row}.rounded(next, c);
    if constexpr (choice.vectors > 0) update.state[c] = e.m;
    if constexpr (choice.vectors > 1) update.state[shard.dim + c] = e.v;
  }

  /// Sum `number` of those that the step asks for, over the columns held here.
  template <class Columns>
  KOKKOS_FORCEINLINE_FUNCTION double sum(const Step& step, const Columns& columns, int number) const {
    return columns.sum([&](std::int64_t c, float g) {
      const auto e = update.template load<float>(c, &g, 1);
      float first = 0, second = 0;
      step.add(e.w, e.g, e.m, e.v, first, second);
      return number == 0 ? first : second;
    });
  }
};

/// Calls body(step, value of the type of the row) for the optimizer and the values of the shard.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_step_and_value(const UpdateShard& shard, const UpdateStep& now,
                                                     const Body& body) {
  with_step(shard.optimizer, now.number,
            [&](const auto& step) { with_trained_value(shard.value_type, [&](auto value) { body(step, value); }); });
}

template <class Exec>
struct ApplyOptimizer {
  UpdateStep now;
  WholeRowSums<Exec> given;

  template <class Columns>
  KOKKOS_FUNCTION void operator()(const UpdateShard& shard, std::int64_t u, std::int64_t row,
                                  const Columns& columns) const {
    with_step_and_value(shard, now, [&](const auto& step, auto value) {
      using Step = std::decay_t<decltype(step)>;
      const RowInShard<Step, decltype(value)> in_shard(shard, row);
      if constexpr (row_sum_count(Step::kind) > 0)
        apply_with_sums(in_shard, step, u, columns);
      else
        columns.for_each([&](std::int64_t c, float g) { in_shard.apply(now, step, c, g); });
    });
  }

 private:
  template <class Row, class Step, class Columns>
  KOKKOS_FORCEINLINE_FUNCTION void apply_with_sums(const Row& row, const Step& step, std::int64_t u,
                                                   const Columns& columns) const {
    const UpdateShard& shard = row.shard;
    const bool sums_given = shard.dim != shard.full_dim && given.values.extent(0) > 0;
    float sums[2] = {};
    for (int k = 0; k < row_sum_count(Step::kind); ++k)
      sums[k] = static_cast<float>(sums_given ? given.values(u * given.per_row + k) : row.sum(step, columns, k));
    float* place = row.update.state + Row::choice.vectors * shard.dim;
    float scalar = Row::choice.scalars > 0 ? columns.read(place) : 0.0F;
    const auto row_step = step.for_row(RowSums{sums[0], sums[1]}, static_cast<float>(shard.full_dim), scalar);
    columns.for_each([&](std::int64_t c, float g) {
      row.apply(now, row_step, c, g);
      if (Row::choice.scalars > 0 && c == 0) *place = scalar;
    });
  }
};

template <class Exec>
struct StoreRowSums {
  UpdateStep now;
  Array<Exec, double> sums;
  std::int64_t per_row;

  template <class Columns>
  KOKKOS_FUNCTION void operator()(const UpdateShard& shard, std::int64_t u, std::int64_t row,
                                  const Columns& columns) const {
    if (shard.dim == shard.full_dim) return;
    with_step_and_value(shard, now, [&](const auto& step, auto value) {
      using Step = std::decay_t<decltype(step)>;
      if constexpr (row_sum_count(Step::kind) > 0)
        for (int k = 0; k < row_sum_count(Step::kind); ++k)
          sums(u * per_row + k) = RowInShard<Step, decltype(value)>(shard, row).sum(step, columns, k);
    });
  }
};

}  // namespace shardmark::kernels::device

namespace shardmark::kernels {

/// On a device: a warp per distinct row.
template <class Exec, class Unique, class GradientOffset>
requires on_device<Exec>
void fused_update(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
                  const ShardList<Exec, UpdateShard>& shards, const UpdateStep& step,
                  RowGradientsWorkspace<Exec>& workspace, const WholeRowSums<Exec>& given = {}) {
  device::for_each_row_gradient("shardmark::fused_update", exec, gradients, shards, workspace,
                                device::ApplyOptimizer<Exec>{step, given});
}

/// On a device: a warp per distinct row.
template <class Exec, class Unique, class GradientOffset>
requires on_device<Exec>
void row_sums(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
              const ShardList<Exec, UpdateShard>& shards, const UpdateStep& step,
              RowGradientsWorkspace<Exec>& workspace, Array<Exec, double> sums, std::int64_t per_row) {
  device::for_each_row_gradient("shardmark::row_sums", exec, gradients, shards, workspace,
                                device::StoreRowSums<Exec>{step, sums, per_row});
}

}  // namespace shardmark::kernels
