// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/row_gradients.hpp"
#include "kernels/fused_update.hpp"

namespace shardmark::kernels::device {

/// One row in the memory of its shard, element by element.
template <class Step, class Value>
struct RowInShard {
  static constexpr std::int64_t vectors = choice_of(Step::kind).vectors;

  const UpdateShard& shard;
  std::int64_t row;
  DecayFactors decay{shard.optimizer};

  struct Element {
    float w, g, m, v;
  };

  KOKKOS_FORCEINLINE_FUNCTION Value* values() const { return static_cast<Value*>(shard.rows) + row * shard.dim; }
  KOKKOS_FORCEINLINE_FUNCTION float* state() const {
    return shard.state + row * (vectors * shard.dim + choice_of(Step::kind).scalars);
  }

  /// Weight decay in its gradient.
  KOKKOS_FORCEINLINE_FUNCTION Element load(std::int64_t c, float g) const {
    const float w = to_float(values()[c]);
    return {w, fused(decay.l2, w, g), vectors > 0 ? state()[c] : 0.0F, vectors > 1 ? state()[shard.dim + c] : 0.0F};
  }

  template <class RowStep>
  KOKKOS_FORCEINLINE_FUNCTION void apply(const UpdateStep& now, const RowStep& step, std::int64_t c, float g) const {
    Element e = load(c, g);
    const float next = fused(-decay.decoupled, e.w, step(e.w, e.g, e.m, e.v));
    if (shard.stochastic_rounding && !std::is_same_v<Value, float>)
      values()[c] = stochastically_rounded_to<Value>(
          next, rounding_bits(now.seed, now.number, shard.table, shard.row_begin + row * shard.row_stride,
                              shard.column_begin + c));
    else
      values()[c] = rounded_to<Value>(next);
    if constexpr (vectors > 0) state()[c] = e.m;
    if constexpr (vectors > 1) state()[shard.dim + c] = e.v;
  }

  /// Sum `number` of those that the step asks for, over the columns held here.
  template <class Columns>
  KOKKOS_FORCEINLINE_FUNCTION double sum(const Step& step, const Columns& columns, int number) const {
    return columns.sum([&](std::int64_t c, float g) {
      const Element e = load(c, g);
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
      const RowInShard<Step, decltype(value)> elements{shard, row};
      if constexpr (row_sum_count(Step::kind) > 0)
        apply_with_sums(elements, step, u, columns);
      else
        columns.for_each([&](std::int64_t c, float g) { elements.apply(now, step, c, g); });
    });
  }

 private:
  template <class Elements, class Step, class Columns>
  KOKKOS_FORCEINLINE_FUNCTION void apply_with_sums(const Elements& elements, const Step& step, std::int64_t u,
                                                   const Columns& columns) const {
    const UpdateShard& shard = elements.shard;
    const bool sums_given = shard.dim != shard.full_dim && given.values.extent(0) > 0;
    double sums[2] = {};
    for (int k = 0; k < row_sum_count(Step::kind); ++k)
      sums[k] = sums_given ? given.values(u * given.per_row + k) : elements.sum(step, columns, k);
    using Sum = decltype(RowSums::first);
    constexpr bool has_scalar = choice_of(Step::kind).scalars > 0;
    float* place = elements.state() + elements.vectors * shard.dim;
    float scalar = has_scalar ? columns.read(place) : 0.0F;
    const auto row_step = step.for_row(RowSums{static_cast<Sum>(sums[0]), static_cast<Sum>(sums[1])},
                                       static_cast<float>(shard.full_dim), scalar);
    columns.for_each([&](std::int64_t c, float g) {
      elements.apply(now, row_step, c, g);
      if (has_scalar && c == 0) *place = scalar;
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
          sums(u * per_row + k) = RowInShard<Step, decltype(value)>{shard, row}.sum(step, columns, k);
    });
  }
};

/// kernels::fused_update, a warp per distinct row.
template <class Exec, class Unique, class GradientOffset>
void fused_update(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
                  const ShardList<Exec, UpdateShard>& shards, const UpdateStep& step,
                  RowGradientsWorkspace<Exec>& workspace, const WholeRowSums<Exec>& given) {
  device::for_each_row_gradient("shardmark::fused_update", exec, gradients, shards, workspace,
                                ApplyOptimizer<Exec>{step, given});
}

/// kernels::row_sums, a warp per distinct row.
template <class Exec, class Unique, class GradientOffset>
void row_sums(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
              const ShardList<Exec, UpdateShard>& shards, const UpdateStep& step,
              RowGradientsWorkspace<Exec>& workspace, Array<Exec, double> sums, std::int64_t per_row) {
  device::for_each_row_gradient("shardmark::row_sums", exec, gradients, shards, workspace,
                                StoreRowSums<Exec>{step, sums, per_row});
}

}  // namespace shardmark::kernels::device

namespace shardmark::kernels {

template <class Exec, class Unique, class GradientOffset>
requires on_device<Exec>
void fused_update(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
                  const ShardList<Exec, UpdateShard>& shards, const UpdateStep& step,
                  RowGradientsWorkspace<Exec>& workspace, const WholeRowSums<Exec>& given = {}) {
  device::fused_update(exec, gradients, shards, step, workspace, given);
}

template <class Exec, class Unique, class GradientOffset>
requires on_device<Exec>
void row_sums(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
              const ShardList<Exec, UpdateShard>& shards, const UpdateStep& step,
              RowGradientsWorkspace<Exec>& workspace, Array<Exec, double> sums, std::int64_t per_row) {
  device::row_sums(exec, gradients, shards, step, workspace, sums, per_row);
}

}  // namespace shardmark::kernels
