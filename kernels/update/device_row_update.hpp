// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/update/row_update.hpp"

namespace shardmark::kernels::device {

/// Updates one row of a shard, element by element.
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

  /// Returns sum `number` of those that the step needs, over the columns held here.
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

}  // namespace shardmark::kernels::device
