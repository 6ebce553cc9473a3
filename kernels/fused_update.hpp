// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/optimizers.hpp"
#include "kernels/row_gradients.hpp"
#include "kernels/work.hpp"
#include "reference/value_type.hpp"

namespace shardmark::kernels {

/// A shard that is updated in place. Its local row i is row row_begin + i row_stride of `table`, its column c column
/// column_begin + c: with these the random bits of stochastic rounding are the same wherever a row is held.
struct UpdateShard {
  void* rows = nullptr;        ///< [rows of the shard, dim] of value_type: fp32, fp16 or bf16
  float* state = nullptr;      ///< [rows of the shard, state_per_row(optimizer, dim)]
  std::int64_t first_key = 0;  ///< key = first_key + local row
  std::int64_t dim = 0;        ///< columns held here
  std::int64_t full_dim = 0;   ///< columns of the whole table
  Optimizer optimizer{};
  ValueType value_type = ValueType::fp32;
  bool stochastic_rounding = false;
  std::int64_t table = 0;
  std::int64_t row_begin = 0;
  std::int64_t row_stride = 1;
  std::int64_t column_begin = 0;
};

/// Which step it is: its number t, from 1, for bias corrections, and with the seed for stochastic rounding.
struct UpdateStep {
  std::int64_t number = 1;
  std::uint64_t seed = 0;
};

/// Sums over whole rows, for tables split by columns: values[u * per_row + k] is sum k of distinct row u. Read for
/// shards that hold only some of the columns of their table; empty where there are none. See row_sums.
template <class Exec>
struct WholeRowSums {
  ConstArray<Exec, double> values;
  std::int64_t per_row = 1;
};

/// Asks for the values and the state of a row, into the second cache or the first. (A class, since GCC 12 takes a
/// lambda that only prefetches for one without effect, and drops it.)
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

/// Calls body(Value{}) with the type of the values of a trained table.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_trained_value(ValueType type, const Body& body) {
  switch (type) {
    case ValueType::fp32:
      return body(float{});
    case ValueType::fp16:
      return body(Fp16{});
    case ValueType::bf16:
      return body(Bf16{});
    case ValueType::int8:
      return;
  }
}

/// Calls body(Value{}, dim), the usual dims as a Block.
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

  KOKKOS_FORCEINLINE_FUNCTION Rounding(const UpdateStep& now, const UpdateShard& shard, std::int64_t row)
      : stochastic(!std::is_same_v<Value, float> && shard.stochastic_rounding), column_begin(shard.column_begin) {
    if (stochastic) row_bits = random_bits(now.seed, now.number, shard.table, shard.row_begin + row * shard.row_stride);
  }

  KOKKOS_FORCEINLINE_FUNCTION Value rounded(float next, std::int64_t column) const {
    return stochastic ? stochastically_rounded_to<Value>(next, rounding_bits(row_bits, column_begin + column))
                      : rounded_to<Value>(next);
  }

  template <class Count>
  KOKKOS_FORCEINLINE_FUNCTION void store(const Lanes& next, Value* values, std::int64_t column, Count count) const {
    if constexpr (!std::is_same_v<Value, float>)
      if (stochastic) return store_stochastically(values, next, row_bits, column_begin + column, count);
    store_lanes(values, next, count);
  }
};

/// Where the numbers of one row lie, and what every element of it goes through. Dim: a Block, or std::int64_t.
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

  /// The columns from `column` on, of which there are `count`, with weight decay in their gradient.
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
      auto e = load<Lanes>(column, g, count);
      rounding.store(fused(-decay.decoupled, e.w, step(e.w, e.g, e.m, e.v)), values + column, column, count);
      if constexpr (vectors > 0) store_lanes(state + column, e.m, count);
      if constexpr (vectors > 1) store_lanes(state + dim + column, e.v, count);
    });
  }

  /// The sums that the step asks for, over the columns held here: in fp32, over 16 interleaved lanes that are added
  /// pairwise, so in one order for any width and with an error that grows with dim / 16 only. of_gradient: they need
  /// nothing but the gradient, so that the row is not read.
  template <bool of_gradient = false, class Tile>
  KOKKOS_FORCEINLINE_FUNCTION RowSums sums(const Step& step, const Tile& tile) const {
    Lanes first = 0.0F, second = 0.0F;
    for_each_lanes(tile, [&](std::int64_t column, const float* g, auto count) {
      Elements<Lanes> e;
      if constexpr (of_gradient)
        e = {0.0F, load_lanes(g, count), 0.0F, 0.0F};
      else
        e = load<Lanes>(column, g, count);
      Lanes more_first = first, more_second = second;
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
      const std::int64_t whole = width / lane_count * lane_count;
      for (std::int64_t c = 0; c < whole; c += lane_count) body(column + c, g + c, Block<lane_count>{});
      if (whole < width) body(column + whole, g + whole, width - whole);
    }
  }
};

/// fused_update's part of for_each_row_gradient.
template <class Exec>
struct ApplyOptimizer {
  UpdateStep now;
  WholeRowSums<Exec> given;

  template <class Run>
  KOKKOS_FUNCTION void operator()(const UpdateShard& shard, const Run& run) const {
    with_step(shard.optimizer, now.number, [&](const auto& step) {
      with_value_and_dim(shard, [&](auto value, auto dim) { rows<decltype(value)>(shard, run, step, dim); });
    });
  }

 private:
  template <class Value, class Run, class Step, class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void rows(const UpdateShard& shard, const Run& run, const Step& step, Dim dim) const {
    const std::int64_t state_size = state_per_row(Step::kind, dim);
    const auto values = static_cast<Value*>(shard.rows);
    const DecayFactors decay(shard.optimizer);
    const auto columns = static_cast<float>(shard.full_dim);
    const bool sums_given = shard.dim != shard.full_dim && given.values.extent(0) > 0;
    // Inlined by force: 5 % of the time of (a) and (c).
    run.for_each(
        dim, PrefetchRow<Value, Dim>{values, shard.state, dim, state_size},
        [&](std::int64_t u, std::int64_t row, const auto& tile) __attribute__((always_inline)) {
          const RowUpdate<Step, Value, Dim> update{decay, values + row * dim, shard.state + row * state_size, dim};
          const Rounding<Value> rounding{now, shard, row};
          if constexpr (row_sum_count(Step::kind) > 0) {
            const double* sums = given.values.data() + u * given.per_row;
            const RowSums whole =
                sums_given ? RowSums{static_cast<float>(sums[0]), static_cast<float>(sums[given.per_row - 1])}
                           : update.sums(step, tile);
            float* scalar = update.state + update.vectors * dim;
            update.apply(step.for_row(whole, columns, *scalar), tile, rounding);
          } else {
            update.apply(step, tile, rounding);
          }
        });
  }
};

/// Sums the gradient of every distinct row (see RowGradients: order, precision) and applies its shard's optimizer in
/// place, rows in parallel and each row by one thread: equal bits for any number of threads. Shards of different dims,
/// value types and optimizers go in one call; each row must lie inside the shard its key falls into. The new value is
/// computed in fp32 and rounded once, to nearest or stochastically.
/// given: for tables split by columns, the completed sums of row_sums.
template <class Exec, class Unique, class GradientOffset>
requires on_host<Exec>
void fused_update(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
                  const ShardList<Exec, UpdateShard>& shards, const UpdateStep& step,
                  RowGradientsWorkspace<Exec>& workspace, const WholeRowSums<Exec>& given = {}) {
  for_each_row_gradient("shardmark::fused_update", exec, gradients, shards, workspace,
                        ApplyOptimizer<Exec>{step, given});
}

/// What an update must touch, for its work: sums over the distinct rows and over the positions of a step.
struct UpdateCounts {
  std::int64_t positions = 0;
  std::int64_t position_elements = 0;  ///< sum over positions of the dim of their row
  std::int64_t unique = 0;
  std::int64_t unique_elements = 0;    ///< sum over distinct rows of their dim
  std::int64_t row_bytes = 0;          ///< sum over distinct rows of their row_bytes
  std::int64_t state_elements = 0;     ///< sum over distinct rows of state_per_row
  std::int64_t gradient_elements = 0;  ///< elements of the gradient vectors, each counted once
};

constexpr Work fused_update_work(const UpdateCounts& counts, bool weighted) {
  const std::int64_t row_bytes = counts.row_bytes + counts.state_elements * 4;
  return {
      .bytes_read = row_bytes + counts.gradient_elements * 4 + counts.positions * (16 + (weighted ? 4 : 0)) +
                    (2 * counts.unique + 1) * 8,
      .bytes_written = row_bytes,
      .flops = counts.position_elements * (weighted ? 2 : 1) + counts.unique_elements * 2 + counts.state_elements * 4};
}

/// Sums over the distinct rows, for pooled_lookup_work and fused_update_work. Waits for the device.
struct RowElements {
  std::int64_t rows = 0;
  std::int64_t values = 0;  ///< of dim
  std::int64_t bytes = 0;   ///< of row_bytes
  std::int64_t state = 0;   ///< of state_per_row
};
template <class Exec, class Unique>
RowElements row_elements(const Exec& exec, const Unique& unique, const ShardList<Exec, UpdateShard>& list) {
  RowElements total;
  Kokkos::parallel_reduce(
      "shardmark::row_elements", static_range(exec, unique.positions()),
      KOKKOS_LAMBDA(const std::int64_t u, std::int64_t& rows, std::int64_t& values, std::int64_t& bytes,
                    std::int64_t& state) {
        if (u >= unique.count()) return;
        const auto& shard = list.shards(list.find(unique.key(u)));
        ++rows;
        values += shard.dim;
        bytes += row_bytes(shard.value_type, shard.dim);
        state += state_per_row(shard.optimizer.kind, shard.dim);
      },
      total.rows, total.values, total.bytes, total.state);
  return total;
}

}  // namespace shardmark::kernels

#include "kernels/device/fused_update.hpp"  // the same for devices
