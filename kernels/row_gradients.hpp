// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "kernels/array.hpp"
#include "kernels/balanced_ranges.hpp"
#include "kernels/row_sum.hpp"
#include "kernels/unique_rows.hpp"

namespace shardmark::kernels {

/// The gradient of every distinct row that a rank received ids for:
///   g(u) = sum over its positions p, ascending, of weight[p] * gradients[gradient_offset(p) .. + dim)
/// in fp32. Rows with more than hot_row_piece positions are summed in pieces of that many positions, and the pieces
/// then added in order, each from 0: a fixed order, so equal bits for any number of threads.
///   unique: UniqueRows or IdentityRows;  gradient_offset: an array [positions] or a function of the position
///   weights: [positions], or empty when every weight is 1;  gradients: the vectors that came home the inverse way
template <class Exec, class Unique, class GradientOffset>
struct RowGradients {
  Unique unique;
  GradientOffset gradient_offset;
  ConstArray<Exec, float> weights;
  ConstArray<Exec, float> gradients;
};

template <class Exec, class Unique, class GradientOffset>
RowGradients<Exec, Unique, GradientOffset> row_gradients(const Exec&, const Unique& unique,
                                                         const GradientOffset& gradient_offset,
                                                         ConstArray<Exec, float> weights,
                                                         ConstArray<Exec, float> gradients) {
  return {unique, gradient_offset, weights, gradients};
}

/// Shards of a rank by ascending first_key: anything with first_key and dim (UpdateShard, DenseShard).
template <class Exec, class Shard>
struct ShardList {
  ConstArray<Exec, Shard> shards;
  std::int64_t largest_dim = 0;

  KOKKOS_INLINE_FUNCTION std::int64_t count() const { return static_cast<std::int64_t>(shards.extent(0)); }
  /// The shard that holds `key`: the last one that begins at or before it, so that empty shards never match.
  KOKKOS_INLINE_FUNCTION std::int64_t find(std::int64_t key) const {
    return last_at_most(count(), key, [&](std::int64_t s) { return shards(s).first_key; });
  }
};

template <class Exec, class Shard>
ShardList<Exec, Shard> shard_list(const Exec& exec, const std::vector<Shard>& shards) {
  std::int64_t largest_dim = 0;
  for (const auto& shard : shards) largest_dim = std::max(largest_dim, shard.dim);
  return {array_of(exec, shards, "shardmark::shards"), largest_dim};
}

inline constexpr std::int64_t hot_row_piece = 1024;
inline constexpr std::int64_t update_grain = 1024;
inline constexpr std::int64_t update_prefetch = 16;

/// Positions [begin, end) in sorted order, all of row `key`.
struct RowPiece {
  std::int64_t key;
  std::int64_t begin;
  std::int64_t end;
};

template <class Exec>
struct RowGradientsWorkspace {
  Scratch<Exec, RowPiece> pieces{"shardmark::hot_row_pieces"};
  Scratch<Exec, std::int64_t> first_piece{"shardmark::hot_row_first_piece"};
  Scratch<Exec, float> partial_sums{"shardmark::hot_row_partial_sums"};
};

/// Sum of squares in fp32, over 16 interleaved lanes that are added pairwise: one order for any width, and an error
/// that grows with width / 16 only.
template <class Width>
KOKKOS_FORCEINLINE_FUNCTION double square_sum(const float* g, Width width) {
  constexpr std::int64_t lanes = 16;
  float lane[lanes] = {};
  const std::int64_t whole = width / lanes * lanes;
  for (std::int64_t d = 0; d < whole; d += lanes)
    for (std::int64_t j = 0; j < lanes; ++j) lane[j] += g[d + j] * g[d + j];
  for (std::int64_t d = whole; d < width; ++d) lane[d - whole] += g[d] * g[d];
  for (std::int64_t half = lanes / 2; half > 0; half /= 2)
    for (std::int64_t j = 0; j < half; ++j) lane[j] += lane[j + half];
  return static_cast<double>(lane[0]);
}

/// Computes g(u) row after row and hands it to `consume`, which has
///   wants_square_sum(shard)             whether it needs the sum over the row of g^2
///   prefetch_row(shard, dim, row)       called some rows ahead of the row's turn
///   step = begin_row(u, shard, row, square sum)
///   (shard, row, column, width, g, step)  for each tile of columns: one tile up to column_tile, and for usual dims
/// where `row` is local to the shard. See for_each_row_gradient.
template <class Exec, class Inputs, class Shard, class Consume>
struct RowGradientKernel {
  Inputs inputs;
  ShardList<Exec, Shard> list;
  ConstArray<Exec, RowPiece> pieces;
  ConstArray<Exec, std::int64_t> first_piece;  ///< by begin(u) / hot_row_piece, rounded up
  Array<Exec, float> partial_sums;             ///< [pieces, largest_dim]
  BalancedRanges ranges;
  Consume consume;

  struct SumPieces {};

  /// Partial sum of one piece of a hot row.
  KOKKOS_FUNCTION void operator()(SumPieces, std::int64_t number) const {
    const auto& piece = pieces(number);
    const auto& shard = list.shards(list.find(piece.key));
    float* sum = &partial_sums(number * list.largest_dim);
    with_width(shard.dim, [&](auto dim) {
      for_column_tiles(dim, [&](std::int64_t column, auto width) {
        float g[decltype(width)::capacity];
        sum_positions(g, dim, column, width, piece.begin, piece.end, piece.end - 1);
        for (std::int64_t d = 0; d < width; ++d) sum[column + d] = g[d];
      });
    });
  }

  /// The rows of one range, shard by shard.
  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    const auto& unique = inputs.unique;
    const auto begin_of = [&](std::int64_t u) { return unique.begin(u); };
    std::int64_t u = ranges.begin(range, begin_of);
    const std::int64_t end = ranges.begin(range + 1, begin_of);
    while (u < end) {
      const std::int64_t s = list.find(unique.key(u));
      std::int64_t stop = end;
      if (s + 1 < list.count())
        stop = u +
               first_at_least(end - u, list.shards(s + 1).first_key, [&](std::int64_t i) { return unique.key(u + i); });
      with_width(list.shards(s).dim, [&](auto dim) { rows(list.shards(s), dim, u, stop); });
      u = stop;
    }
  }

 private:
  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void rows(const Shard& shard, Dim dim, std::int64_t first, std::int64_t stop) const {
    const auto& unique = inputs.unique;
    const std::int64_t last_position = unique.begin(stop) - 1;
    const auto ask_for = [&](std::int64_t u) { consume.prefetch_row(shard, dim, unique.key(u) - shard.first_key); };
    for (std::int64_t u = first; u < Kokkos::min(first + update_prefetch, stop); ++u) ask_for(u);
    for (std::int64_t u = first; u < stop; ++u) {
      ask_for(Kokkos::min(u + update_prefetch, stop - 1));
      const std::int64_t row = unique.key(u) - shard.first_key;
      float g[Dim::capacity];
      double squares = 0;
      const bool wants_squares = consume.wants_square_sum(shard);
      if (wants_squares)
        for_column_tiles(dim, [&](std::int64_t column, auto width) {
          gradient(g, dim, column, width, u, last_position);
          squares += square_sum(g, width);
        });
      const double step = consume.begin_row(u, shard, row, squares);
      for_column_tiles(dim, [&](std::int64_t column, auto width) {
        if (!wants_squares || dim > Dim::capacity) gradient(g, dim, column, width, u, last_position);
        consume(shard, row, column, width, g, step);
      });
    }
  }

  /// Columns [column, column + width) of g(u).
  template <class Dim, class Width>
  KOKKOS_FORCEINLINE_FUNCTION void gradient(float* g, Dim dim, std::int64_t column, Width width, std::int64_t u,
                                            std::int64_t last_position) const {
    const std::int64_t begin = inputs.unique.begin(u);
    const std::int64_t end = inputs.unique.begin(u + 1);
    if (end - begin <= hot_row_piece) {
      sum_positions(g, dim, column, width, begin, end, last_position);
    } else {
      const std::int64_t first = first_piece((begin + hot_row_piece - 1) / hot_row_piece);
      const std::int64_t count = (end - begin + hot_row_piece - 1) / hot_row_piece;
      const auto partial_sum = [&](std::int64_t i) { return &partial_sums(i * list.largest_dim + column); };
      sum_rows(g, width, first, first + count, partial_sum, [](std::int64_t) { return 1.0F; });
    }
  }

  template <class Dim, class Width>
  KOKKOS_FORCEINLINE_FUNCTION void sum_positions(float* g, Dim dim, std::int64_t column, Width width,
                                                 std::int64_t begin, std::int64_t end,
                                                 std::int64_t last_position) const {
    const auto vector = [&](std::int64_t i) {
      return inputs.gradients.data() + inputs.gradient_offset(inputs.unique.position(i)) + column;
    };
    const auto vector_ahead = [&](std::int64_t i) {
      if (column == 0)
        prefetch(vector(Kokkos::min(i + update_prefetch, last_position)), dim * std::int64_t{sizeof(float)});
      return vector(i);
    };
    if (inputs.weights.extent(0) == 0)
      sum_rows(g, width, begin, end, vector_ahead, [](std::int64_t) { return 1.0F; });
    else
      sum_rows(g, width, begin, end, vector_ahead,
               [&](std::int64_t i) { return inputs.weights(inputs.unique.position(i)); });
  }
};

/// Lists the pieces of the rows with more than hot_row_piece positions; returns how many there are. Such a row covers a
/// multiple of hot_row_piece, so only n / hot_row_piece places need a look.
template <class Exec, class Unique>
std::int64_t list_hot_row_pieces(const Exec& exec, const Unique& unique, const Array<Exec, RowPiece>& pieces,
                                 const Array<Exec, std::int64_t>& first_piece) {
  std::int64_t total = 0;
  Kokkos::parallel_scan(
      "shardmark::hot_rows", static_range(exec, static_cast<std::int64_t>(first_piece.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t place, std::int64_t& next, const bool final) {
        const std::int64_t u =
            last_at_most(unique.count, place * hot_row_piece, [&](std::int64_t i) { return unique.begin(i); });
        const std::int64_t begin = unique.begin(u);
        const std::int64_t end = unique.begin(u + 1);
        const bool hot = end - begin > hot_row_piece && (begin + hot_row_piece - 1) / hot_row_piece == place;
        if (!hot) return;
        if (final) first_piece(place) = next;
        for (std::int64_t at = begin; at < end; at += hot_row_piece, ++next)
          if (final) pieces(next) = {unique.key(u), at, Kokkos::min(at + hot_row_piece, end)};
      },
      total);
  return total;
}

/// Runs `consume` on the gradient of every distinct row, rows in parallel, each by one thread.
template <class Exec, class Unique, class GradientOffset, class Shard, class Consume>
void for_each_row_gradient(const std::string& label, const Exec& exec,
                           const RowGradients<Exec, Unique, GradientOffset>& inputs, const ShardList<Exec, Shard>& list,
                           RowGradientsWorkspace<Exec>& workspace, const Consume& consume) {
  using Kernel = RowGradientKernel<Exec, RowGradients<Exec, Unique, GradientOffset>, Shard, Consume>;
  const std::int64_t positions = inputs.unique.positions();
  if (inputs.unique.count == 0) return;
  const std::int64_t places = (positions + hot_row_piece - 1) / hot_row_piece;
  const Array<Exec, RowPiece> pieces = workspace.pieces.first(2 * places);
  const Array<Exec, std::int64_t> first_piece = workspace.first_piece.first(places);
  const std::int64_t piece_count = list_hot_row_pieces(exec, inputs.unique, pieces, first_piece);
  const BalancedRanges ranges{inputs.unique.count, positions, update_grain};
  const Kernel kernel{inputs, list,   pieces, first_piece, workspace.partial_sums.first(piece_count * list.largest_dim),
                      ranges, consume};
  using PiecePolicy = Kokkos::RangePolicy<Exec, typename Kernel::SumPieces, Kokkos::Schedule<Kokkos::Dynamic>,
                                          Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(label + "_hot_rows", PiecePolicy(exec, 0, piece_count, Kokkos::ChunkSize(1)), kernel);
  Kokkos::parallel_for(label, dynamic_range(exec, ranges.count()), kernel);
}

}  // namespace shardmark::kernels
