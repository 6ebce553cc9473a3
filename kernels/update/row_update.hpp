// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lookup/column_blocks.hpp"
#include "kernels/lookup/stored_rows.hpp"
#include "kernels/prefetch.hpp"
#include "kernels/update/optimizers.hpp"
#include "kernels/update/update_shard.hpp"
#include "reference/rounding.hpp"

namespace shardmark::kernels {

/// Prefetches the values and the state of a row into the second-level cache (far) or the first (near). (It is a class
/// because GCC 12 takes a lambda that only prefetches for one without effect, and drops it.)
template <class Value, class Dim>
struct PrefetchRow {
  Value* values;
  float* state;
  Dim dim;
  std::int64_t state_size;

  KOKKOS_FORCEINLINE_FUNCTION void far(std::int64_t row) const {
    prefetch(values + row * dim, dim * std::int64_t{sizeof(Value)});
    prefetch(state + row * state_size, state_size * std::int64_t{sizeof(float)});
  }
  KOKKOS_FORCEINLINE_FUNCTION void near(std::int64_t row) const {
    prefetch_near(values + row * dim, dim * std::int64_t{sizeof(Value)});
    prefetch_near(state + row * state_size, state_size * std::int64_t{sizeof(float)});
  }
};

/// Calls body(Value{}, dim), with the usual dims as a Block.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_value_and_dim(const UpdateShard& shard, const Body& body) {
  with_trained_value(shard.value_type, [&](auto value) { with_dim(shard.dim, [&](auto dim) { body(value, dim); }); });
}

/// Rounds the new values of a row to those of its table.
template <class Value>
struct Rounding {
  bool stochastic;
  std::uint64_t row_bits = 0;  ///< see rounding_bits
  std::int64_t column_begin;

  /// Takes table_bits: random_bits(now.seed, now.number, shard.table), which the rows of a shard have in common.
  KOKKOS_FORCEINLINE_FUNCTION Rounding(std::uint64_t table_bits, const UpdateShard& shard, std::int64_t row)
      : stochastic(!std::is_same_v<Value, float> && shard.stochastic_rounding), column_begin(shard.column_begin) {
    if (stochastic) row_bits = next_random_bits(table_bits, static_cast<std::uint64_t>(shard.number(row)));
  }
  KOKKOS_FORCEINLINE_FUNCTION Rounding(const UpdateStep& now, const UpdateShard& shard, std::int64_t row)
      : Rounding(random_bits(now.seed, now.number, shard.table), shard, row) {}

  KOKKOS_FORCEINLINE_FUNCTION Value rounded(float next, std::int64_t column) const {
    return stochastic ? stochastically_rounded_to<Value>(next, rounding_bits(row_bits, column_begin + column))
                      : rounded_to<Value>(next);
  }

  template <class Count>
  KOKKOS_FORCEINLINE_FUNCTION void store(const Simd& next, Value* values, std::int64_t column, Count count) const {
    if constexpr (!std::is_same_v<Value, float>)
      if (stochastic) return store_stochastically(values, next, row_bits, column_begin + column, count);
    store_simd(values, next, count);
  }
};

/// Holds where the numbers of one row lie, and applies the step to its elements. Dim: a Block, or std::int64_t.
template <class Step, class Value, class Dim>
struct RowUpdate {
  static constexpr std::int64_t vectors = choice_of(Step::kind).vectors;

  DecayFactors decay;
  Value* values;
  float* state;
  Dim dim;

  template <class Number>
  struct Elements {
    Number w, g, m, v;
  };

  /// Reads the columns from `column` on, of which there are `count`, and adds weight decay to their gradient.
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Elements<Number> load(std::int64_t column, const float* g, std::int64_t count) const {
    Elements<Number> e;
    e.w = kernels::load<Number>(values + column, count);
    e.g = kernels::load<Number>(g, count);
    if (decay.l2 != 0.0F) e.g = fused(decay.l2, e.w, e.g);  // else the sums need not wait for w
    e.m = vectors > 0 ? kernels::load<Number>(state + column, count) : 0.0F;
    e.v = vectors > 1 ? kernels::load<Number>(state + dim + column, count) : 0.0F;
    return e;
  }

  template <class RowStep, class Tile>
  KOKKOS_FORCEINLINE_FUNCTION void apply(const RowStep& step, const Tile& tile, const Rounding<Value>& rounding) const {
    for_each_lanes(tile, [&](std::int64_t column, const float* g, auto count) {
      auto e = load<Simd>(column, g, count);
      rounding.store(fused(-decay.decoupled, e.w, step(e.w, e.g, e.m, e.v)), values + column, column, count);
      if constexpr (vectors > 0) store_simd(state + column, e.m, count);
      if constexpr (vectors > 1) store_simd(state + dim + column, e.v, count);
    });
  }

  /// Returns the sums that the step needs, over the columns held here: in fp32, over 16 interleaved simd lanes that are
  /// added pairwise, so in one order for any width and with an error that grows with dim / 16 only. of_gradient: they
  /// need nothing but the gradient, so that the row is not read.
  template <bool of_gradient = false, class Tile>
  KOKKOS_FORCEINLINE_FUNCTION SumsOfRow sums(const Step& step, const Tile& tile) const {
    Simd first = 0.0F, second = 0.0F;
    for_each_lanes(tile, [&](std::int64_t column, const float* g, auto count) {
      Elements<Simd> e;
      if constexpr (of_gradient)
        e = {0.0F, load_simd(g, count), 0.0F, 0.0F};
      else
        e = load<Simd>(column, g, count);
      Simd more_first = first, more_second = second;
      step.add(e.w, e.g, e.m, e.v, more_first, more_second);
      first = first_lanes(more_first, count, first);
      second = first_lanes(more_second, count, second);
    });
    return {sum_of(first), sum_of(second)};
  }

 private:
  /// Calls body(column, its gradient, how many columns are left) every 16 columns.
  template <class Tile, class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_lanes(const Tile& tile, const Body& body) const {
    for (std::int64_t column = 0; column < dim; column += column_tile) {
      const std::int64_t width = Kokkos::min(std::int64_t{column_tile}, dim - column);
      const float* g = tile(column, width);
      const std::int64_t whole = width / simd_width * simd_width;
      for (std::int64_t c = 0; c < whole; c += simd_width) body(column + c, g + c, Block<simd_width>{});
      if (whole < width) body(column + whole, g + whole, width - whole);
    }
  }
};

}  // namespace shardmark::kernels
