// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "kernels/array.hpp"
#include "kernels/balanced_ranges.hpp"
#include "kernels/column_blocks.hpp"
#include "kernels/prefetch.hpp"
#include "kernels/unique_rows.hpp"

namespace shardmark::kernels {

/// The gradient of every distinct row that a rank received ids for:
///   g(u) = sum over its positions p, ascending, of weight[p] * gradients[gradient_offset(p) .. + dim)
/// in fp32. Rows with more than hot_row_piece positions are summed in pieces of that many positions, and the pieces
/// then added in order, each from 0: a fixed order, so equal bits for any number of threads.
///   unique: UniqueRows or TouchedRows
///   gradient_offset: a function of the position or an array [positions]; empty where unique.position(i) is the offset
///   weights: [positions], or empty when every weight is 1;  gradients: the vectors that came home the inverse way
template <class Exec, class Unique, class GradientOffset>
struct RowGradients {
  Unique unique;
  GradientOffset gradient_offset;
  ConstArray<Exec, float> weights;
  ConstArray<Exec, float> gradients;

  /// Where the vector of sorted position i begins.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t vector_begin(std::int64_t i) const {
    const std::int64_t position = unique.position(i);
    if constexpr (Kokkos::is_view_v<GradientOffset>)
      if (gradient_offset.extent(0) == 0) return position;
    return gradient_offset(position);
  }
};

template <class Exec, class Unique, class GradientOffset>
RowGradients<Exec, Unique, GradientOffset> row_gradients(const Exec&, const Unique& unique,
                                                         const GradientOffset& gradient_offset,
                                                         ConstArray<Exec, float> weights,
                                                         ConstArray<Exec, float> gradients) {
  return {unique, gradient_offset, weights, gradients};
}

/// Of positions with these keys in [0, key_bound) and gradient_offset, [positions] each, as expand_positions gives
/// them. Without weights the offsets are sorted in the place of the positions, which spares a random read of each.
template <class Exec>
RowGradients<Exec, UniqueRows<Exec>, ConstArray<Exec, std::int64_t>> sorted_row_gradients(
    const Exec& exec, ConstArray<Exec, std::int64_t> keys, std::int64_t key_bound,
    ConstArray<Exec, std::int64_t> gradient_offset, ConstArray<Exec, float> weights, ConstArray<Exec, float> gradients,
    UniqueRowsWorkspace<Exec>& workspace) {
  if (weights.extent(0) > 0)
    return {unique_rows<Exec>(exec, keys, key_bound, workspace), gradient_offset, weights, gradients};
  const auto bound = static_cast<std::int64_t>(gradients.extent(0));
  return {unique_rows<Exec>(exec, keys, key_bound, gradient_offset, bound, workspace), {}, weights, gradients};
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
inline constexpr std::int64_t update_grain = 4096;

/// Rows that nobody asks for ahead of their use.
struct NoPrefetch {
  KOKKOS_FUNCTION void far(std::int64_t) const {}
  KOKKOS_FUNCTION void near(std::int64_t) const {}
};

/// out = g(u), `tile` as for_each gives it.
template <class Dim, class Tile>
KOKKOS_FORCEINLINE_FUNCTION void copy_gradient(Dim dim, const Tile& tile, float* out) {
  for (std::int64_t column = 0; column < dim; column += column_tile) {
    const std::int64_t width = Kokkos::min(std::int64_t{column_tile}, dim - column);
    const float* g = tile(column, width);
    for (std::int64_t c = 0; c < width; c += lane_count)
      store_lanes(out + column + c, load_lanes(g + c, width - c), width - c);
  }
}

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
  Scratch<Exec, std::int64_t> piece_count{"shardmark::hot_row_piece_count"};
  Scratch<Exec, float> partial_sums{"shardmark::hot_row_partial_sums"};
};

/// Computes g(u) row after row and hands runs of rows of one shard to `consume`:
///   consume(shard, run), where run.for_each(dim, prefetch_row, body) calls prefetch_row.far(row) and later .near(row)
///   ahead of body(u, row, tile), and tile(column, width), width <= column_tile, gives the columns [column, column +
///   width) of g(u), valid until the next call; `row` is local to the shard.
/// See for_each_row_gradient.
template <class Exec, class Inputs, class Shard, class Consume>
struct RowGradientKernel {
  Inputs inputs;
  ShardList<Exec, Shard> list;
  ConstArray<Exec, RowPiece> pieces;
  ConstArray<Exec, std::int64_t> first_piece;  ///< by begin(u) / hot_row_piece, rounded up
  ConstArray<Exec, std::int64_t> piece_count;
  Array<Exec, float> partial_sums;  ///< [pieces, largest_dim]
  Consume consume;

  struct SumPieces {};

  /// Partial sum of one piece of a hot row.
  KOKKOS_FUNCTION void operator()(SumPieces, std::int64_t number) const {
    if (number >= piece_count(0)) return;
    const auto& piece = pieces(number);
    const std::int64_t dim = list.shards(list.find(piece.key)).dim;
    sum_positions(&partial_sums(number * list.largest_dim), 0, dim, piece.begin, piece.end, piece.end - 1);
  }

  /// The rows of one range, shard by shard.
  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    const auto& unique = inputs.unique;
    const auto begin_of = [&](std::int64_t u) { return unique.begin(u); };
    const BalancedRanges ranges = unique_ranges();
    std::int64_t u = ranges.begin(range, begin_of);
    const std::int64_t end = ranges.begin(range + 1, begin_of);
    while (u < end) {
      const std::int64_t s = list.find(unique.key(u));
      std::int64_t stop = end;
      if (s + 1 < list.count())
        stop = u +
               first_at_least(end - u, list.shards(s + 1).first_key, [&](std::int64_t i) { return unique.key(u + i); });
      consume(list.shards(s), Run{*this, list.shards(s).first_key, u, stop});
      u = stop;
    }
  }

  KOKKOS_INLINE_FUNCTION BalancedRanges unique_ranges() const {
    const std::int64_t count = inputs.unique.count();
    return {count, inputs.unique.begin(count), update_grain};
  }

  struct Run {
    const RowGradientKernel& kernel;
    std::int64_t first_key, first, stop;

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
            kernel.gradient(sum, 0, dim, u, last_position());
            whole = sum;
          }
          body(u, place.row, [&](std::int64_t column, std::int64_t width) -> const float* {
            if (whole != nullptr) return whole + column;
            kernel.gradient(sum, column, width, u, last_position());
            return sum;
          });
        }
      }
    }

   private:
    static constexpr std::int64_t rows_at_a_time = 64;

    /// What one distinct row takes: rows are local to the shard.
    struct RowPlace {
      std::int64_t row, far_row, near_row;  ///< itself, and those to ask for; far_row < 0: none
      const float* only_vector;             ///< its gradient, if one unweighted vector is all of it
      const float* later_vector;            ///< the vector to ask for then
    };

    KOKKOS_FORCEINLINE_FUNCTION std::int64_t last_position() const { return kernel.inputs.unique.begin(stop) - 1; }
    KOKKOS_FORCEINLINE_FUNCTION std::int64_t row(std::int64_t u) const {
      return kernel.inputs.unique.key(Kokkos::min(u, stop - 1)) - first_key;
    }

    template <class Dim, class PrefetchRow>
    KOKKOS_FORCEINLINE_FUNCTION void ask_for_first(Dim dim, const PrefetchRow& prefetch_row) const {
      const PrefetchPolicy policy = prefetch_policy();
      const std::int64_t begin = kernel.inputs.unique.begin(first), end = begin + policy.gradients(dim);
      for (std::int64_t i = begin; i < end; ++i) kernel.prefetch_offset(i, last_position());
      for (std::int64_t i = begin; i < end; ++i) kernel.prefetch_vector(i, last_position(), 0, dim);
      const std::int64_t rows = Kokkos::max(policy.updated, policy.near_updated);
      for (std::int64_t u = first; u < Kokkos::min(first + rows, stop); ++u) prefetch_row.far(row(u));
    }

    /// The places of rows [begin, end). In a loop of its own, so that as little as can be is left to do between two
    /// rows, and the processor has several of them in flight.
    template <class Dim>
    KOKKOS_FORCEINLINE_FUNCTION void find_places(Dim dim, std::int64_t begin, std::int64_t end,
                                                 RowPlace* places) const {
      const auto& unique = kernel.inputs.unique;
      const bool weighted = kernel.inputs.weights.extent(0) > 0;
      const PrefetchPolicy policy = prefetch_policy();
      const std::int64_t ahead = policy.gradients(dim), last = last_position();
      for (std::int64_t u = begin; u < end; ++u) {
        const std::int64_t position = unique.begin(u);
        const bool only = !weighted && unique.begin(u + 1) - position == 1;
        if (only) kernel.prefetch_offset(position + 2 * ahead, last);
        places[u - begin] = {row(u), policy.updated > 0 ? row(u + policy.updated) : -1, row(u + policy.near_updated),
                             only ? kernel.vector(position) : nullptr,
                             only ? kernel.vector(Kokkos::min(position + ahead, last)) : nullptr};
      }
    }
  };

 private:
  KOKKOS_FORCEINLINE_FUNCTION const float* vector(std::int64_t i) const {
    return inputs.gradients.data() + inputs.vector_begin(i);
  }
  /// The place of the vector of position i is asked for as many positions ahead of the vector as that is of its use.
  KOKKOS_FORCEINLINE_FUNCTION void prefetch_offset(std::int64_t i, std::int64_t last_position) const {
    if constexpr (Kokkos::is_view_v<decltype(inputs.gradient_offset)>)
      if (inputs.gradient_offset.extent(0) > 0)
        prefetch(&inputs.gradient_offset(inputs.unique.position(Kokkos::min(i, last_position))), 1);
  }
  template <class Width>
  KOKKOS_FORCEINLINE_FUNCTION void prefetch_vector(std::int64_t i, std::int64_t last_position, std::int64_t column,
                                                   Width width) const {
    if (column == 0) prefetch_offset(i + prefetch_policy().gradients(width), last_position);
    prefetch(vector(Kokkos::min(i, last_position)) + column, width * std::int64_t{sizeof(float)});
  }

  /// sum = columns [column, column + width) of g(u).
  KOKKOS_FUNCTION void gradient(float* sum, std::int64_t column, std::int64_t width, std::int64_t u,
                                std::int64_t last_position) const {
    const std::int64_t begin = inputs.unique.begin(u);
    const std::int64_t end = inputs.unique.begin(u + 1);
    if (end - begin <= hot_row_piece) return sum_positions(sum, column, width, begin, end, last_position);
    const std::int64_t first = first_piece((begin + hot_row_piece - 1) / hot_row_piece);
    const std::int64_t count = (end - begin + hot_row_piece - 1) / hot_row_piece;
    for_blocks<128, 64, lane_count>(width, [&](std::int64_t c, auto block) {
      const auto partial_sum = [&](std::int64_t i) { return &partial_sums(i * list.largest_dim + column + c); };
      add_vectors(sum + c, block, first, first + count, partial_sum, [](std::int64_t) { return 1.0F; });
    });
  }

  KOKKOS_FUNCTION void sum_positions(float* sum, std::int64_t column, std::int64_t width, std::int64_t begin,
                                     std::int64_t end, std::int64_t last_position) const {
    for_blocks<128, 64, lane_count>(width, [&](std::int64_t c, auto block) {
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

/// Places among n sorted positions at which a row with more than hot_row_piece of them can begin; it has at most twice
/// as many pieces.
constexpr std::int64_t hot_row_places(std::int64_t n) { return (n + hot_row_piece - 1) / hot_row_piece; }

/// Lists the pieces of the rows with more than hot_row_piece positions, and how many there are. Such a row covers a
/// multiple of hot_row_piece, so only n / hot_row_piece places need a look.
template <class Exec, class Unique>
void list_hot_row_pieces(const Exec& exec, const Unique& unique, const Array<Exec, RowPiece>& pieces,
                         const Array<Exec, std::int64_t>& first_piece, const Array<Exec, std::int64_t>& piece_count) {
  const auto places = static_cast<std::int64_t>(first_piece.extent(0));
  Kokkos::parallel_scan(
      "shardmark::hot_rows", static_range(exec, places),
      KOKKOS_LAMBDA(const std::int64_t place, std::int64_t& next, const bool final) {
        const std::int64_t count = unique.count();
        if (place * hot_row_piece < unique.begin(count)) {
          const std::int64_t u =
              last_at_most(count, place * hot_row_piece, [&](std::int64_t i) { return unique.begin(i); });
          const std::int64_t begin = unique.begin(u);
          const std::int64_t end = unique.begin(u + 1);
          const bool hot = end - begin > hot_row_piece && (begin + hot_row_piece - 1) / hot_row_piece == place;
          if (hot && final) first_piece(place) = next;
          for (std::int64_t at = begin; hot && at < end; at += hot_row_piece, ++next)
            if (final) pieces(next) = {unique.key(u), at, Kokkos::min(at + hot_row_piece, end)};
        }
        if (final && place == places - 1) piece_count(0) = next;
      });
}

/// The kernel that computes the gradients of the distinct rows, once their hot pieces are listed; Kernel: that of the
/// host or of a device.
template <class Kernel, class Exec, class Unique, class GradientOffset, class Shard, class Consume>
Kernel row_gradient_kernel(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& inputs,
                           const ShardList<Exec, Shard>& list, RowGradientsWorkspace<Exec>& workspace,
                           const Consume& consume) {
  const std::int64_t places = hot_row_places(inputs.unique.positions());
  const Array<Exec, RowPiece> pieces = workspace.pieces.first(2 * places);
  const Array<Exec, std::int64_t> first_piece = workspace.first_piece.first(places);
  const Array<Exec, std::int64_t> piece_count = workspace.piece_count.first(1);
  list_hot_row_pieces(exec, inputs.unique, pieces, first_piece, piece_count);
  return {inputs, list, pieces, first_piece, piece_count, workspace.partial_sums.first(2 * places * list.largest_dim),
          consume};
}

/// Runs `consume` on the gradient of every distinct row, rows in parallel, each by one thread. What only the device
/// knows, how many rows and pieces there are, stays there: as many ranges are launched as there can be.
template <class Exec, class Unique, class GradientOffset, class Shard, class Consume>
void for_each_row_gradient(const std::string& label, const Exec& exec,
                           const RowGradients<Exec, Unique, GradientOffset>& inputs, const ShardList<Exec, Shard>& list,
                           RowGradientsWorkspace<Exec>& workspace, const Consume& consume) {
  using Kernel = RowGradientKernel<Exec, RowGradients<Exec, Unique, GradientOffset>, Shard, Consume>;
  const std::int64_t positions = inputs.unique.positions();
  if (positions == 0) return;
  const auto kernel = row_gradient_kernel<Kernel>(exec, inputs, list, workspace, consume);
  using PiecePolicy = Kokkos::RangePolicy<Exec, typename Kernel::SumPieces, Kokkos::Schedule<Kokkos::Dynamic>,
                                          Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(label + "_hot_rows", PiecePolicy(exec, 0, 2 * hot_row_places(positions), Kokkos::ChunkSize(1)),
                       kernel);
  const BalancedRanges most{positions, positions, update_grain};
  Kokkos::parallel_for(label, dynamic_range(exec, most.count()), kernel);
}

}  // namespace shardmark::kernels
