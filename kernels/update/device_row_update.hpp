// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/update/device_row_gradients.hpp"
#include "kernels/update/row_sums.hpp"
#include "kernels/update/row_update.hpp"

namespace shardmark::kernels::device {

/// Holds a span of the columns of one row in the lanes of a tile: its values w, gradient g and state m and v. No step
/// touches a row twice, while gradients are read for each id of their bag: these are to stay in the caches.
template <class Step, class Value, class Columns>
struct RowInTile {
  static constexpr std::int64_t vectors = choice_of(Step::kind).vectors, scalars = choice_of(Step::kind).scalars;
  using Held = typename Columns::Held;

  const Columns& columns;
  DecayFactors decay;
  Value* values;
  float* state;
  Chunk<Value, 4> w[Columns::chunks];
  Held g, m, v;

  KOKKOS_FORCEINLINE_FUNCTION RowInTile(const Columns& of, const DecayFactors& factors, const UpdateShard& shard,
                                        std::int64_t row)
      : columns(of),
        decay(factors),
        values(static_cast<Value*>(shard.rows) + row * of.dim),
        state(shard.state + row * (vectors * of.dim + scalars)) {}

  KOKKOS_FORCEINLINE_FUNCTION float* scalar() const { return state + vectors * columns.dim; }

  /// Reads the columns from `first` on: what the row has of them is on its way while the gradient is summed.
  KOKKOS_FORCEINLINE_FUNCTION void read(int first) {
    read_row(first);
    read_gradient(first);
  }
  KOKKOS_FORCEINLINE_FUNCTION void read_row(int first) {
    const int dim = columns.dim;
    columns.for_each_chunk(first, [&](int k, int c) {
      w[k] = read_four<Reuse::never>(values + c, dim - c);
      if constexpr (vectors > 0) m[k] = read_four<Reuse::never>(state + c, dim - c);
      if constexpr (vectors > 1) v[k] = read_four<Reuse::never>(state + dim + c, dim - c);
    });
  }
  KOKKOS_FORCEINLINE_FUNCTION void read_gradient(int first) {
    columns.gradient(first, g);
    if (decay.l2 != 0.0F)
      columns.for_each_chunk(first, [&](int k, int) {
        SHARDMARK_UNROLL for (int i = 0; i < 4; ++i) g[k].at[i] = fused(decay.l2, to_float(w[k].at[i]), g[k].at[i]);
      });
  }

  /// Adds to `sums` of each lane what its columns from `first` on add to the sums of the row.
  KOKKOS_FORCEINLINE_FUNCTION void add(const Step& step, int first, float (&sums)[2]) const {
    columns.for_each_chunk(first, [&](int k, int c) {
      SHARDMARK_UNROLL for (int i = 0; i < 4; ++i) {
        const auto e = element(k, i);
        if (c + i < columns.dim) step.add(e.w, e.g, e.m, e.v, sums[0], sums[1]);
      }
    });
  }

  /// Applies the step to the columns from `first` on, and writes them.
  template <class RowStep>
  KOKKOS_FORCEINLINE_FUNCTION void apply(const RowStep& step, int first, const Rounding<Value>& rounding) {
    const int dim = columns.dim;
    columns.for_each_chunk(first, [&](int k, int c) {
      Chunk<Value, 4> next;
      SHARDMARK_UNROLL for (int i = 0; i < 4; ++i) {
        auto e = element(k, i);
        next.at[i] = rounding.rounded(fused(-decay.decoupled, e.w, step(e.w, e.g, e.m, e.v)), c + i);
        if constexpr (vectors > 0) m[k].at[i] = e.m;
        if constexpr (vectors > 1) v[k].at[i] = e.v;
      }
      write_four<Reuse::never>(values + c, next, dim - c);
      if constexpr (vectors > 0) write_four<Reuse::never>(state + c, m[k], dim - c);
      if constexpr (vectors > 1) write_four<Reuse::never>(state + dim + c, v[k], dim - c);
    });
  }

 private:
  struct Element {
    float w, g, m, v;
  };
  KOKKOS_FORCEINLINE_FUNCTION Element element(int k, int i) const {
    Element e{to_float(w[k].at[i]), g[k].at[i], 0.0F, 0.0F};
    if constexpr (vectors > 0) e.m = m[k].at[i];
    if constexpr (vectors > 1) e.v = v[k].at[i];
    return e;
  }
};

/// Updates rows whose optimizer and value type the compiler knows.
template <class Step, class Value>
struct UpdateRows {
  Step step;
  DecayFactors decay;
  UpdateStep now;
  const double* given;  ///< the sums of rows held in parts, null where there are none
  std::int64_t given_per_row;

  template <class Columns>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const UpdateShard& shard, std::int64_t u, std::int64_t row,
                                              const Columns& columns) const {
    RowInTile<Step, Value, Columns> held(columns, decay, shard, row);
    if constexpr (row_sum_count(Step::kind) == 0) {
      columns.for_each_span([&](int first) {
        held.read(first);
        held.apply(step, first, Rounding<Value>(now, shard, row));
      });
    } else {
      constexpr bool has_scalar = choice_of(Step::kind).scalars > 0;
      const bool with_given = shard.dim != shard.full_dim && given != nullptr;
      const bool first_lane = columns.tile.lane == 0;
      float of_first_lane = 0, sums[2] = {};
      if (has_scalar && first_lane) of_first_lane = load_global<1>(held.scalar()).at[0];
      if (columns.held_at_once() || !with_given)
        columns.for_each_span([&](int first) {
          held.read(first);
          held.add(step, first, sums);
        });
      SumsOfRow whole;
      if (with_given) {
        const double* of_row = given + u * given_per_row;
        whole = {static_cast<float>(of_row[0]), static_cast<float>(of_row[given_per_row - 1])};
      } else {
        whole.first = columns.tile.sum(sums[0]);
        if (row_sum_count(Step::kind) > 1) whole.second = columns.tile.sum(sums[1]);
      }
      float scalar = has_scalar ? columns.tile.from_lane(of_first_lane, 0) : 0.0F;
      const auto row_step = step.for_row(whole, static_cast<float>(shard.full_dim), scalar);
      columns.for_each_span([&](int first) {
        if (!columns.held_at_once()) held.read(first);
        held.apply(row_step, first, Rounding<Value>(now, shard, row));
      });
      if (has_scalar && first_lane) store_global<1>(held.scalar(), Chunk<float, 1>{{scalar}});
    }
  }
};

template <class Step, class Value>
inline constexpr std::int64_t vectors_kept<UpdateRows<Step, Value>> = choice_of(Step::kind).vectors;

/// Stores the sums of rows held in parts whose optimizer and value type the compiler knows.
template <class Step, class Value>
struct StoreSumsOfRows {
  Step step;
  DecayFactors decay;
  double* sums;
  std::int64_t per_row;

  template <class Columns>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const UpdateShard& shard, std::int64_t u, std::int64_t row,
                                              const Columns& columns) const {
    if (shard.dim == shard.full_dim) return;
    RowInTile<Step, Value, Columns> held(columns, decay, shard, row);
    float own_sums[2] = {};
    columns.for_each_span([&](int first) {
      if (Step::kind == OptimizerKind::lamb || decay.l2 != 0.0F) held.read_row(first);
      held.read_gradient(first);
      held.add(step, first, own_sums);
    });
    for (int k = 0; k < row_sum_count(Step::kind); ++k) {
      const auto sum = static_cast<double>(columns.tile.sum(own_sums[k]));
      if (columns.tile.lane == 0) sums[u * per_row + k] = sum;
    }
  }
};

template <class Step, class Value>
inline constexpr std::int64_t vectors_kept<StoreSumsOfRows<Step, Value>> = choice_of(Step::kind).vectors;

/// Calls body(step, value of the type of the rows, shards, their largest dim) for each run of consecutive shards with
/// the same optimizer and value type, most often one: each is a launch, whose step the host has computed.
template <class Exec, class Body>
void for_each_update(const ShardList<Exec, UpdateShard>& list, const UpdateStep& now, const Body& body) {
  const auto& shards = list.on_host;
  const std::int64_t count = list.count();
  for (std::int64_t s = 0, stop = 0; s < count; s = stop) {
    const Optimizer& optimizer = shards(s).optimizer;
    std::int64_t largest_dim = 0;
    for (; stop < count && shards(stop).optimizer == optimizer && shards(stop).value_type == shards(s).value_type;
         ++stop)
      largest_dim = std::max(largest_dim, shards(stop).dim);
    ShardRange<UpdateShard> range{list.shards.data() + s, stop - s};
    if (s > 0) range.first_key = shards(s).first_key;
    if (stop < count) range.end_key = shards(stop).first_key;
    with_step(optimizer, now.number, [&](const auto& step) {
      with_trained_value(shards(s).value_type,
                         [&](auto value) { body(step, value, DecayFactors(optimizer), range, largest_dim); });
    });
  }
}

}  // namespace shardmark::kernels::device
