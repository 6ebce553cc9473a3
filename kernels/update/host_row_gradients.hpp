// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lookup/column_blocks.hpp"
#include "kernels/prefetch.hpp"
#include "kernels/sort/hot_row_shards.hpp"

namespace shardmark::kernels::host {

inline constexpr std::int64_t update_grain = 4096;

/// Does nothing, for rows that are not prefetched.
struct NoPrefetch {
  KOKKOS_FUNCTION void far(std::int64_t) const {}
  KOKKOS_FUNCTION void near(std::int64_t) const {}
};

/// Copies g(u) to `out`, `tile` as RowRun::for_each gives it.
template <class Dim, class Tile>
KOKKOS_FORCEINLINE_FUNCTION void copy_gradient(Dim dim, const Tile& tile, float* out) {
  for (std::int64_t column = 0; column < dim; column += column_tile) {
    const std::int64_t width = Kokkos::min(std::int64_t{column_tile}, dim - column);
    const float* g = tile(column, width);
    for (std::int64_t c = 0; c < width; c += simd_width)
      store_simd(out + column + c, load_simd(g + c, width - c), width - c);
  }
}

/// Sums gradients over sorted positions, each vector prefetched before it is read.
template <class Exec>
struct GradientSums {
  const RowGradients<Exec>& inputs;
  const HotRows<Exec>& hot;

  KOKKOS_FORCEINLINE_FUNCTION const float* vector(std::int64_t i) const {
    return inputs.gradients.data() + inputs.vector_begin(i);
  }
  /// Prefetches the place of the vector of position i: as many positions before the prefetch of the vector as that is
  /// before its use.
  KOKKOS_FORCEINLINE_FUNCTION void prefetch_offset(std::int64_t i, std::int64_t last_position) const {
    if (inputs.gradient_offset.extent(0) > 0)
      prefetch(&inputs.gradient_offset(inputs.unique.position(Kokkos::min(i, last_position))), 1);
  }
  template <class Width>
  KOKKOS_FORCEINLINE_FUNCTION void prefetch_vector(std::int64_t i, std::int64_t last_position, std::int64_t column,
                                                   Width width) const {
    if (column == 0) prefetch_offset(i + prefetch_policy().gradients(width), last_position);
    prefetch(vector(Kokkos::min(i, last_position)) + column, width * std::int64_t{sizeof(float)});
  }

  /// Sets `sum` to the columns [column, column + width) of g(u).
  KOKKOS_FUNCTION void gradient(float* sum, std::int64_t column, std::int64_t width, std::int64_t u,
                                std::int64_t last_position) const {
    const std::int64_t begin = inputs.unique.begin(u);
    const std::int64_t end = inputs.unique.begin(u + 1);
    if (end - begin <= hot_row_piece) return of_positions(sum, column, width, begin, end, last_position);
    const auto pieces = hot.of(begin, end);
    for_blocks<128, 64, simd_width>(width, [&](std::int64_t c, auto block) {
      const auto partial_sum = [&](std::int64_t i) { return hot.partial_sum(i) + column + c; };
      add_vectors(sum + c, block, pieces.first, pieces.stop, partial_sum, [](std::int64_t) { return 1.0F; });
    });
  }

  /// Sets `sum` to the columns [column, column + width) of the sum over the sorted positions [begin, end).
  KOKKOS_FUNCTION void of_positions(float* sum, std::int64_t column, std::int64_t width, std::int64_t begin,
                                    std::int64_t end, std::int64_t last_position) const {
    for_blocks<128, 64, simd_width>(width, [&](std::int64_t c, auto block) {
      const std::int64_t ahead = prefetch_policy().gradients(block);
      const auto vector_ahead = [&](std::int64_t i) __attribute__((always_inline)) {
        prefetch_vector(i + ahead, last_position, column + c, block);
        return vector(i) + column + c;
      };
      if (inputs.weights.extent(0) == 0)
        add_vectors(sum + c, block, begin, end, vector_ahead, [](std::int64_t) { return 1.0F; });
      else
        add_vectors(sum + c, block, begin, end, vector_ahead,
                    [&](std::int64_t i) { return inputs.weights(inputs.unique.position(i)); });
    });
  }
};

/// Goes through the distinct rows [first, stop), all of one shard, whose first key is first_key.
template <class Exec>
struct RowRun {
  GradientSums<Exec> sums;
  std::int64_t first_key, first, stop;

  /// Calls prefetch_row.far(row) and later .near(row) before body(u, row, tile), for every row u of the run. `row` is
  /// local to the shard; tile(column, width), width <= column_tile, gives the columns [column, column + width) of g(u),
  /// valid until the next call.
  template <class Dim, class PrefetchRow, class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(Dim dim, const PrefetchRow& prefetch_row, const Body& body) const {
    ask_for_first(dim, prefetch_row);
    RowPlace places[rows_at_a_time];
    float sum[column_tile];
    for (std::int64_t begin = first; begin < stop; begin += rows_at_a_time) {
      const std::int64_t end = Kokkos::min(begin + rows_at_a_time, stop);
      find_places(dim, begin, end, places);
      for (std::int64_t u = begin; u < end; ++u) {
        const RowPlace& place = places[u - begin];
        if (place.far_row >= 0) prefetch_row.far(place.far_row);
        prefetch_row.near(place.near_row);
        const float* whole = place.only_vector;
        if (whole != nullptr) {
          prefetch(place.later_vector, dim * std::int64_t{sizeof(float)});
        } else if (dim <= column_tile) {
          sums.gradient(sum, 0, dim, u, last_position());
          whole = sum;
        }
        body(u, place.row, [&](std::int64_t column, std::int64_t width) -> const float* {
          if (whole != nullptr) return whole + column;
          sums.gradient(sum, column, width, u, last_position());
          return sum;
        });
      }
    }
  }

 private:
  static constexpr std::int64_t rows_at_a_time = 64;

  /// Holds what the loop needs to know of one distinct row: rows are local to the shard.
  struct RowPlace {
    std::int64_t row, far_row, near_row;  ///< itself, and those to prefetch; far_row < 0: none
    const float* only_vector;             ///< its gradient, if one unweighted vector is all of it
    const float* later_vector;            ///< the vector to prefetch then
  };

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t last_position() const { return sums.inputs.unique.begin(stop) - 1; }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t row(std::int64_t u) const {
    return sums.inputs.unique.key(Kokkos::min(u, stop - 1)) - first_key;
  }

  template <class Dim, class PrefetchRow>
  KOKKOS_FORCEINLINE_FUNCTION void ask_for_first(Dim dim, const PrefetchRow& prefetch_row) const {
    const PrefetchPolicy policy = prefetch_policy();
    const std::int64_t begin = sums.inputs.unique.begin(first), end = begin + policy.gradients(dim);
    for (std::int64_t i = begin; i < end; ++i) sums.prefetch_offset(i, last_position());
    for (std::int64_t i = begin; i < end; ++i) sums.prefetch_vector(i, last_position(), 0, dim);
    const std::int64_t rows = Kokkos::max(policy.updated, policy.near_updated);
    for (std::int64_t u = first; u < Kokkos::min(first + rows, stop); ++u) prefetch_row.far(row(u));
  }

  /// Finds the places of rows [begin, end). It is a loop of its own, so that as little as possible is left to do
  /// between two rows, and the processor has several of them in flight.
  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void find_places(Dim dim, std::int64_t begin, std::int64_t end, RowPlace* places) const {
    const auto& unique = sums.inputs.unique;
    const bool weighted = sums.inputs.weights.extent(0) > 0;
    const PrefetchPolicy policy = prefetch_policy();
    const std::int64_t ahead = policy.gradients(dim), last = last_position();
    for (std::int64_t u = begin; u < end; ++u) {
      const std::int64_t position = unique.begin(u);
      const bool only = !weighted && unique.begin(u + 1) - position == 1;
      if (only) sums.prefetch_offset(position + 2 * ahead, last);
      places[u - begin] = {row(u), policy.updated > 0 ? row(u + policy.updated) : -1, row(u + policy.near_updated),
                           only ? sums.vector(position) : nullptr,
                           only ? sums.vector(Kokkos::min(position + ahead, last)) : nullptr};
    }
  }
};

/// Computes whole rows by one thread each: first the pieces of hot rows, then all rows, a range at a time.
template <class Exec, class Shard, class Consume>
struct RowGradientKernel {
  RowGradients<Exec> inputs;
  ShardList<Exec, Shard> list;
  HotRows<Exec> hot;
  Consume consume;

  struct SumPieces {};

  /// Computes the partial sum of one piece of a hot row.
  KOKKOS_FUNCTION void operator()(SumPieces, std::int64_t number) const {
    if (number >= hot.piece_count(0)) return;
    const auto& piece = hot.pieces(number);
    const std::int64_t dim = list.shards(list.find(piece.key)).dim;
    GradientSums<Exec>{inputs, hot}.of_positions(hot.partial_sum(number), 0, dim, piece.begin, piece.end,
                                                 piece.end - 1);
  }

  /// Passes the rows of one range to `consume`, shard by shard.
  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    const auto& unique = inputs.unique;
    const auto begin_of = [&](std::int64_t u) { return unique.begin(u); };
    const BalancedRanges ranges{unique.count(), unique.begin(unique.count()), update_grain};
    std::int64_t u = ranges.begin(range, begin_of);
    const std::int64_t end = ranges.begin(range + 1, begin_of);
    while (u < end) {
      const std::int64_t s = list.find(unique.key(u));
      std::int64_t stop = end;
      if (s + 1 < list.count())
        stop = u +
               first_at_least(end - u, list.shards(s + 1).first_key, [&](std::int64_t i) { return unique.key(u + i); });
      consume(list.shards(s), RowRun<Exec>{{inputs, hot}, list.shards(s).first_key, u, stop});
      u = stop;
    }
  }
};

}  // namespace shardmark::kernels::host
