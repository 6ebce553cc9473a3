// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/dynamic/key_table.hpp"
#include "kernels/update/row_update.hpp"

namespace shardmark::kernels::bench {

/// Rows of a dynamic table by their slots, of `Dim` columns in fp32, with what row-wise Adagrad keeps beside them.
template <int Dim>
struct KeyedRows {
  Array<DefaultSpace, float> values;  ///< [slots, Dim]
  Array<DefaultSpace, float> state;   ///< [slots]
  Optimizer optimizer{.kind = OptimizerKind::rowwise_adagrad};

  KOKKOS_FORCEINLINE_FUNCTION void ask(std::int64_t slot) const {
    prefetch_near(values.data() + slot * Dim, Dim * std::int64_t{sizeof(float)});
  }
  KOKKOS_FORCEINLINE_FUNCTION void ask_to_update(std::int64_t slot) const {
    ask(slot);
    prefetch_to_write(state.data() + slot);
  }
  KOKKOS_FORCEINLINE_FUNCTION float sum(std::int64_t slot) const {
    Simd total = 0.0F;
    for (std::int64_t c = 0; c < Dim; c += simd_width)
      total = total + load_simd(values.data() + slot * Dim + c, Dim - c);
    return sum_of(total);
  }
  /// Takes a step of row-wise Adagrad by one gradient, as fused_update does.
  KOKKOS_FORCEINLINE_FUNCTION void update(std::int64_t slot, const float* gradient) const {
    const RowwiseAdagradStep step(optimizer, 1);
    const RowUpdate<RowwiseAdagradStep, float, Block<Dim>> row{
        DecayFactors(optimizer), values.data() + slot * Dim, state.data() + slot, {}};
    const auto tile = [gradient](std::int64_t column, std::int64_t) { return gradient + column; };
    row.apply(step.for_row(row.sums(step, tile), static_cast<float>(Dim), *row.state), tile,
              Rounding<float>(UpdateStep{}, UpdateShard{}, slot));
  }
};

/// Finds every key and adds up its row: sums [keys].
template <int Dim>
void sum_found_rows(const DefaultSpace& exec, const KeyTableArrays<DefaultSpace>& table, const KeyedRows<Dim>& rows,
                    const ConstArray<DefaultSpace, std::int64_t>& keys, const Array<DefaultSpace, float>& sums) {
  for_all_slots(
      "shardmark::sum_found_rows", exec, table, keys,
      KOKKOS_LAMBDA(std::int64_t, std::int64_t slot) { rows.ask(slot); },
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t slot) { sums(i) = rows.sum(slot); });
}

/// Finds every key, all of them distinct, and updates its row by a gradient: gradients [keys, Dim].
template <int Dim>
void update_found_rows(const DefaultSpace& exec, const KeyTableArrays<DefaultSpace>& table, const KeyedRows<Dim>& rows,
                       const ConstArray<DefaultSpace, std::int64_t>& keys,
                       const ConstArray<DefaultSpace, float>& gradients) {
  for_all_slots(
      "shardmark::update_found_rows", exec, table, keys,
      KOKKOS_LAMBDA(std::int64_t, std::int64_t slot) { rows.ask_to_update(slot); },
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t slot) { rows.update(slot, gradients.data() + i * Dim); });
}

}  // namespace shardmark::kernels::bench
