// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "kernels/device_tiles.hpp"
#include "kernels/update/row_gradients.hpp"

namespace shardmark::kernels::device {

/// Rows with more positions than this are summed before all others, each piece of hot_row_piece positions by threads of
/// its own.
inline constexpr std::int64_t long_row = 64;

/// Names the sorted positions [begin, end) of one row, none where there is no such piece.
struct Positions {
  std::int64_t begin = 0, end = 0;
};

/// Numbers the pieces of long rows among n sorted positions: at most one first piece of a row begins in every long_row
/// positions, and at most one later piece in every hot_row_piece.
struct PieceNumbers {
  std::int64_t later;  ///< of the first numbers, which later pieces have
  std::int64_t count;

  PieceNumbers() = default;
  explicit PieceNumbers(std::int64_t n)
      : later((n + hot_row_piece - 1) / hot_row_piece), count(later + (n + long_row - 1) / long_row) {}

  /// Returns the number of the piece that begins at position `at`.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t number(std::int64_t at, bool first) const {
    return first ? later + at / long_row : at / hot_row_piece;
  }
};

/// Holds RowGradients as the kernels read them: by pointers, which are few bytes of arguments, with the sums of the
/// pieces of long rows. RadixPlan sees to it that there are fewer than 2^32 positions.
struct RowSource {
  const std::uint64_t* words;
  const std::int64_t *segments, *total;
  const std::int64_t* gradient_offset;  ///< null where a position is the offset
  const float* weights;                 ///< null when every weight is 1
  const float* gradients;
  std::int64_t most_positions;
  int position_bits;
  PieceNumbers numbers;
  float* piece_sums;  ///< [numbers.count, stride]
  std::int64_t stride;

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t key_at(std::int64_t i) const {
    return static_cast<std::int64_t>(words[i] >> position_bits);
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t position(std::int64_t i) const {
    return static_cast<std::int64_t>(words[i] & ((std::uint64_t{1} << position_bits) - 1));
  }
  KOKKOS_FORCEINLINE_FUNCTION float weight(std::int64_t i) const { return weights[position(i)]; }

  KOKKOS_FORCEINLINE_FUNCTION const float* vector(std::int64_t i) const {
    const std::int64_t place = position(i);
    return gradients + (gradient_offset == nullptr ? place : gradient_offset[place]);
  }
  /// Finds the vectors of Count sorted positions from i on, those from number `count` on as the last before it. Their
  /// places are read side by side: nothing waits between two of them.
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void find_vectors(std::uint32_t i, int count, const float* (&vectors)[Count]) const {
    std::int64_t places[Count];
    SHARDMARK_UNROLL for (int j = 0; j < Count; ++j) {
      places[j] = position(i + static_cast<std::uint32_t>(Kokkos::min(j, count - 1)));
    }
    if (gradient_offset != nullptr) {
      SHARDMARK_UNROLL for (int j = 0; j < Count; ++j) places[j] = gradient_offset[places[j]];
    }
    SHARDMARK_UNROLL for (int j = 0; j < Count; ++j) vectors[j] = gradients + places[j];
  }
  /// Returns the sum of piece i of the long row that begins at position `begin`; in the end that of piece 0 is the sum
  /// of all.
  KOKKOS_FORCEINLINE_FUNCTION float* piece_sum(std::uint32_t begin, int i) const {
    return piece_sums + numbers.number(begin + i * hot_row_piece, i == 0) * stride;
  }

  /// Returns the positions of the piece with this number.
  KOKKOS_FORCEINLINE_FUNCTION Positions piece(std::int64_t number) const {
    return number < numbers.later ? later_piece(number * hot_row_piece)
                                  : first_piece((number - numbers.later) * long_row);
  }
  /// Returns the positions of the row whose second piece has this number.
  KOKKOS_FORCEINLINE_FUNCTION Positions row_of_second_piece(std::int64_t number) const {
    const auto row = row_of_later_piece(number * hot_row_piece);
    const bool begins_here = (row.begin + hot_row_piece) / hot_row_piece == number;
    return begins_here && row.end - row.begin > hot_row_piece ? row : Positions{};
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t positions() const { return segments[*total]; }
  /// Returns whether the row of position i may have more than `length` positions. It has one of these two if it has.
  KOKKOS_FORCEINLINE_FUNCTION bool may_be_longer(std::int64_t i, std::int64_t length) const {
    const std::int64_t before = i - length / 2, behind = i + length / 2, key = key_at(i);
    return (before >= 0 && key_at(before) == key) || (behind < positions() && key_at(behind) == key);
  }
  KOKKOS_FORCEINLINE_FUNCTION Positions row_of(std::int64_t i) const {
    const std::int64_t u = last_at_most(*total, i, [&](std::int64_t row) { return segments[row]; });
    return {segments[u], segments[u + 1]};
  }
  /// Returns the first piece of the long row that begins in [window, window + long_row): it goes on behind the window.
  KOKKOS_FORCEINLINE_FUNCTION Positions first_piece(std::int64_t window) const {
    const std::int64_t behind = window + long_row;
    if (behind >= positions() || !may_be_longer(behind, long_row)) return {};
    const auto row = row_of(behind);
    if (row.begin < window || row.begin == behind || row.end - row.begin <= long_row) return {};
    return {row.begin, Kokkos::min(row.begin + hot_row_piece, row.end)};
  }
  /// Returns the row that goes on from before `window`, if a later piece may begin in [window, window + hot_row_piece).
  KOKKOS_FORCEINLINE_FUNCTION Positions row_of_later_piece(std::int64_t window) const {
    if (window == 0 || window >= positions() || key_at(window - 1) != key_at(window) ||
        !may_be_longer(window, hot_row_piece))
      return {};
    return row_of(window);
  }
  KOKKOS_FORCEINLINE_FUNCTION Positions later_piece(std::int64_t window) const {
    const auto row = row_of_later_piece(window);
    const std::int64_t at = row.begin + (window - row.begin + hot_row_piece - 1) / hot_row_piece * hot_row_piece;
    if (at >= row.end) return {};
    return {at, Kokkos::min(at + hot_row_piece, row.end)};
  }
};

/// Holds consecutive shards, and the keys [first_key, end_key) of their rows.
template <class Shard>
struct ShardRange {
  static constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();

  const Shard* shards;
  std::int64_t count;
  std::int64_t first_key = 0, end_key = no_end;

  KOKKOS_FORCEINLINE_FUNCTION const Shard& of(std::int64_t key) const {
    return shards[last_at_most(count, key, [&](std::int64_t s) { return shards[s].first_key; })];
  }
};

/// Returns the sum, in order, of one column of `length` vectors, column_batch of which are read at a time: find(i,
/// vectors) finds those from i on, weigh(i, values) multiplies their values.
inline constexpr int column_batch = 24;
template <class Find, class Weigh>
KOKKOS_FORCEINLINE_FUNCTION float sum_column(std::int64_t column, int length, const Find& find, const Weigh& weigh) {
  float sum = 0;
  for (int i = 0; i < length; i += column_batch) {
    const float* vectors[column_batch];
    float values[column_batch];
    find(i, vectors);
    SHARDMARK_UNROLL for (int j = 0; j < column_batch; ++j) {
      values[j] = j < length - i ? read_only(vectors[j] + column) : 0.0F;
    }
    weigh(i, values);
    SHARDMARK_UNROLL for (int j = 0; j < column_batch; ++j) sum += values[j];
  }
  return sum;
}

/// Sums long rows, a column by each thread.
template <class Exec, class Shard>
struct LongRows {
  struct SumPieces {};
  struct AddPieces {};

  RowSource source;
  ShardRange<Shard> shards;
  int width;
  std::int64_t column_blocks;  ///< of `width` columns

  /// Sums the positions of each piece.
  template <class Team>
  KOKKOS_FUNCTION void operator()(SumPieces, const Team& team) const {
    for_each_column(
        team, source.numbers.count, [&](std::int64_t number) { return source.piece(number); },
        [&](std::int64_t number, const Positions& piece, std::int64_t column) {
          const auto length = static_cast<int>(piece.end - piece.begin);
          source.piece_sums[number * source.stride + column] = sum_column(
              column, length,
              [&](int i, auto& vectors) {
                source.find_vectors(static_cast<std::uint32_t>(piece.begin + i), length - i, vectors);
              },
              [&](int i, auto& values) {
                if (source.weights == nullptr) return;
                SHARDMARK_UNROLL for (int j = 0; j < column_batch; ++j) {
                  if (j < length - i) values[j] *= source.weight(piece.begin + i + j);
                }
              });
        });
  }

  /// Adds the sums of the pieces of each row that has more than one.
  template <class Team>
  KOKKOS_FUNCTION void operator()(AddPieces, const Team& team) const {
    for_each_column(
        team, source.numbers.later, [&](std::int64_t number) { return source.row_of_second_piece(number); },
        [&](std::int64_t, const Positions& row, std::int64_t column) {
          const auto begin = static_cast<std::uint32_t>(row.begin);
          const auto pieces = static_cast<int>((row.end - row.begin + hot_row_piece - 1) / hot_row_piece);
          source.piece_sum(begin, 0)[column] = sum_column(
              column, pieces,
              [&](int i, auto& vectors) {
                SHARDMARK_UNROLL for (int j = 0; j < column_batch; ++j) {
                  vectors[j] = source.piece_sum(begin, Kokkos::min(i + j, pieces - 1));
                }
              },
              [](int, auto&) {});
        });
  }

 private:
  /// Calls body(number, find(number), column) for the columns of the row of what find(number) finds.
  template <class Team, class Find, class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_column(const Team& team, std::int64_t numbers, const Find& find,
                                                   const Body& body) const {
    for (std::int64_t item = tile_number(team); item < numbers * column_blocks; item += tile_count(team)) {
      const std::int64_t number = item / column_blocks;
      const Positions found = find(number);
      if (found.begin == found.end) continue;
      const std::int64_t dim = shards.of(source.key_at(found.begin)).dim;
      const std::int64_t first = (item - number * column_blocks) * width;
      Tile<Exec>{width}.for_each_thread([&](int thread, int) {
        if (first + thread < dim) body(number, found, first + thread);
      });
    }
  }
};

/// Gives the gradient of one distinct row to the threads of a tile, which hold Chunks chunks of four columns each at a
/// time.
template <class Exec, int Chunks>
struct RowColumns {
  using Space = Exec;
  static constexpr int batch = Chunks == 1 ? 4 : 2;  ///< vectors that are read side by side
  /// Is what a thread holds of a row: chunk k of thread t of the tile begins at column (k width + t) 4.
  using Held = Chunk<float, 4>[Tile<Exec>::kept][Chunks];

  Tile<Exec> tile;
  const RowSource& source;
  std::uint32_t begin, end;  ///< its positions, in sorted order
  int dim;

  /// Returns how many columns the tile holds at a time; with one chunk a thread that is all of a row.
  KOKKOS_FORCEINLINE_FUNCTION int span() const { return 4 * Chunks * tile.width; }
  KOKKOS_FORCEINLINE_FUNCTION bool held_at_once() const { return Chunks == 1 || dim <= span(); }

  /// Calls body(first column) for each of the spans that make up the row.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_span(const Body& body) const {
    if constexpr (Chunks == 1)
      body(0);
    else
      for (int first = 0; first < dim; first += span()) body(first);
  }

  /// Calls body(element of Held, chunk, column) for each chunk held of the columns from `first` on.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_chunk(int first, const Body& body) const {
    tile.for_each_thread([&](int thread, int own) {
      SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
        const int column = column_of(first, thread, k);
        if (column < dim) body(own, k, column);
      }
    });
  }

  /// Sets `held` to the columns of g(u) from `first` on.
  KOKKOS_FORCEINLINE_FUNCTION void gradient(int first, Held& held) const {
    const bool is_long = end - begin > long_row;
    const int length = is_long ? 1 : static_cast<int>(end - begin);
    const float* weights = is_long ? nullptr : source.weights;
    tile.for_each_thread([&](int thread, int own) {
      auto& sum = held[own];
      SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) sum[k] = {};
      for (int i = 0; i < length; i += batch) {
        const std::uint32_t position = begin + static_cast<std::uint32_t>(i);
        const float* vectors[batch];
        if (is_long) {
          SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) vectors[j] = source.piece_sum(begin, 0);
        } else {
          source.find_vectors(position, length - i, vectors);
        }
        if (in_chunks(vectors))
          add_chunks(first, thread, position, length - i, vectors, weights, sum);
        else if (is_long)
          add(first, thread, vectors[0], 1.0F, sum);
        else
          for (std::uint32_t p = position; p < end && p < position + batch; ++p)
            add(first, thread, source.vector(p), weights == nullptr ? 1.0F : source.weight(p), sum);
      }
    });
  }

  /// Calls body(column, g(u) of it and the next three) for each chunk of the row.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_gradient(const Body& body) const {
    for_each_span([&](int first) {
      Held held;
      gradient(first, held);
      for_each_chunk(first, [&](int own, int k, int column) { body(column, held[own][k]); });
    });
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION int column_of(int first, int thread, int k) const {
    return first + 4 * (k * tile.width + thread);
  }

  KOKKOS_FORCEINLINE_FUNCTION bool in_chunks(const float* const (&vectors)[batch]) const {
    bool all = dim % 4 == 0;
    SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) all = all && aligned(vectors[j], sizeof(Chunk<float, 4>));
    return all;
  }

  /// Adds one vector, which may lie anywhere.
  KOKKOS_FORCEINLINE_FUNCTION void add(int first, int thread, const float* vector, float weight,
                                       Chunk<float, 4> (&sum)[Chunks]) const {
    SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
      const int column = column_of(first, thread, k);
      add(product(weight, read_four(vector + column, dim - column)), sum[k]);
    }
  }

  /// Adds the vectors of `count` positions from i on, at most those that are given, all of which are on their way
  /// before the first is added. 0 takes the place of others.
  KOKKOS_FORCEINLINE_FUNCTION void add_chunks(int first, int thread, std::uint32_t i, int count,
                                              const float* const (&vectors)[batch], const float* weights,
                                              Chunk<float, 4> (&sum)[Chunks]) const {
    Chunk<float, 4> values[batch][Chunks];
    SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) {
      SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) {
        const int column = column_of(first, thread, k);
        values[j][k] = {};
        if (j < count && column < dim) values[j][k] = load_read_only<4>(vectors[j] + column);
      }
    }
    if (weights != nullptr) {
      SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) {
        const float weight = j < count ? source.weight(i + static_cast<std::uint32_t>(j)) : 0.0F;
        SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) values[j][k] = product(weight, values[j][k]);
      }
    }
    SHARDMARK_UNROLL for (int j = 0; j < batch; ++j) {
      SHARDMARK_UNROLL for (int k = 0; k < Chunks; ++k) add(values[j][k], sum[k]);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static Chunk<float, 4> product(float weight, Chunk<float, 4> values) {
    SHARDMARK_UNROLL for (int c = 0; c < 4; ++c) values.at[c] = weight * values.at[c];
    return values;
  }
  KOKKOS_FORCEINLINE_FUNCTION static void add(const Chunk<float, 4>& values, Chunk<float, 4>& sum) {
    SHARDMARK_UNROLL for (int c = 0; c < 4; ++c) sum.at[c] += values.at[c];
  }
};

/// Computes the gradients of the rows of some shards, a tile for each, and passes them to
/// consume(shard, u, row, columns). Sums in the order of the host's kernel; `row` is local to the shard.
template <class Exec, class Shard, int Chunks, class Consume>
struct RowGradientKernel {
  RowSource source;
  ShardRange<Shard> shards;
  int width;
  Consume consume;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t rows = *source.total;
    const auto key_of = [&](std::int64_t u) { return source.key_at(source.segments[u]); };
    const auto row_from = [&](std::int64_t key) {
      return static_cast<std::uint32_t>(first_at_least(rows, key, key_of));
    };
    const std::uint32_t first = shards.first_key == 0 ? 0 : row_from(shards.first_key);
    const auto stop = shards.end_key == shards.no_end ? static_cast<std::uint32_t>(rows) : row_from(shards.end_key);
    const auto tiles = static_cast<std::uint32_t>(tile_count(team));
    for (std::uint32_t u = first + static_cast<std::uint32_t>(tile_number(team)); u < stop; u += tiles) {
      const auto begin = static_cast<std::uint32_t>(source.segments[u]);
      const auto end = static_cast<std::uint32_t>(source.segments[u + 1]);
      const std::int64_t key = source.key_at(begin);
      const Shard& shard = shards.of(key);
      consume(shard, u, key - shard.first_key,
              RowColumns<Exec, Chunks>{Tile<Exec>{width}, source, begin, end, static_cast<int>(shard.dim)});
      if (stop - u <= tiles) return;  // u could pass 2^32
    }
  }
};

/// Returns where the gradients of rows are read from, with the sums of the pieces of long rows, which it computes.
template <class Exec, class Shard>
RowSource row_source(const std::string& label, const Exec& exec, const RowGradients<Exec>& gradients,
                     const ShardList<Exec, Shard>& list, RowGradientsWorkspace<Exec>& workspace) {
  const auto& unique = gradients.unique;
  const PieceNumbers numbers(unique.positions());
  const std::int64_t stride = (list.largest_dim + 3) / 4 * 4;
  const RowSource source{unique.words.data(),
                         unique.segments.data(),
                         unique.total.data(),
                         gradients.gradient_offset.extent(0) > 0 ? gradients.gradient_offset.data() : nullptr,
                         gradients.weights.extent(0) > 0 ? gradients.weights.data() : nullptr,
                         gradients.gradients.data(),
                         unique.positions(),
                         unique.position_bits,
                         numbers,
                         workspace.partial_sums.first(numbers.count * stride).data(),
                         stride};
  const int width = tile_width(list.largest_dim);
  using Kernel = LongRows<Exec, Shard>;
  const Kernel kernel{source, {list.shards.data(), list.count()}, width, (stride + width - 1) / width};
  const auto launch = [&]<class Tag>(Tag, std::int64_t pieces) {
    using Bounds = Kokkos::LaunchBounds<team_threads, 2>;
    Kokkos::parallel_for(label + "_long_rows", resident_tiles<Bounds, Tag>(exec, pieces * kernel.column_blocks, width),
                         kernel);
  };
  launch(typename Kernel::SumPieces{}, numbers.count);
  if (numbers.later > 1) launch(typename Kernel::AddPieces{}, numbers.later);
  return source;
}

/// Is how many vectors of state Consume keeps beside the row and its gradient.
template <class Consume>
inline constexpr std::int64_t vectors_kept = 0;

/// Passes the gradients of the rows of some shards, of at most largest_dim columns, to `consume`. Rows of up to 128
/// columns are held in a chunk by each thread, of up to 256 in two, and of more in parts of 256.
template <class Exec, class Shard, class Consume>
void for_each_row(const std::string& label, const Exec& exec, const RowSource& source, const ShardRange<Shard>& shards,
                  std::int64_t largest_dim, const Consume& consume) {
  const int width = tile_width((largest_dim + 3) / 4);
  const auto launch = [&]<int Chunks>(std::integral_constant<int, Chunks>) {
    constexpr std::int64_t chunks_kept = Chunks * (2 + vectors_kept<Consume>);
    constexpr int teams = chunks_kept == 2 ? 4 : chunks_kept <= 4 ? 3 : 2;  // of 64, 80 and 128 registers a thread
    using Bounds = Kokkos::LaunchBounds<team_threads, teams>;
    Kokkos::parallel_for(label, resident_tiles<Bounds>(exec, source.most_positions, width),
                         RowGradientKernel<Exec, Shard, Chunks, Consume>{source, shards, width, consume});
  };
  if (largest_dim <= 4 * width)
    launch(std::integral_constant<int, 1>{});
  else
    launch(std::integral_constant<int, 2>{});
}

}  // namespace shardmark::kernels::device
